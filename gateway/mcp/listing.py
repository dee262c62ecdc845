"""What ``tools/list`` shows: every tool of the effect table, with hints that follow from its classes."""

from collections.abc import Mapping

from mcp_types import ListToolsResult, ToolAnnotations
from mcp_types import Tool as ListedTool

from effects.classes import EffectClass, highest
from effects.tool import Tool

ANY_ARGUMENTS = {"type": "object"}
"""Schema of a tool whose table entry has none."""


def listed(tools: Mapping[str, Tool]) -> ListToolsResult:
    """All tools by name. Never cached: the next table may say otherwise."""
    return ListToolsResult(
        tools=[_tool(name, tools[name]) for name in sorted(tools)], ttl_ms=0, cache_scope="private"
    )


def _tool(name: str, tool: Tool) -> ListedTool:
    worst, schema = highest(*tool.possible), tool.arguments_schema
    return ListedTool(
        name=name,
        description=_description(tool, worst),
        input_schema={**ANY_ARGUMENTS, **({} if schema is None else schema.document)},
        annotations=ToolAnnotations(
            read_only_hint=worst is EffectClass.READ_ONLY,
            destructive_hint=worst is EffectClass.WRITE,
            idempotent_hint=worst is not EffectClass.WRITE,
            open_world_hint=tool.open_world,
        ),
    )


def _description(tool: Tool, worst: EffectClass) -> str:
    approval = "" if tool.approval is None else " A person may have to approve the call."
    return f"Behind Commitgate as {worst.value}.{approval}"
