"""The shop's tools, by name. Each takes validated arguments and a connection inside a transaction."""

from examples.shop.tools.arguments import ARGUMENTS, ToolArguments
from examples.shop.tools.run import READ_ONLY, run_tool

__all__ = ["ARGUMENTS", "READ_ONLY", "ToolArguments", "run_tool"]
