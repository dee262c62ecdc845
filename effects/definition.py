"""What an effect table says of a tool that decides where a call goes and what it is there: what a person approves beside the
arguments, and what a release is decided under.
"""

from effects.canonical import digest
from effects.tool import Tool
from effects.upstream import Server

_MEANING = frozenset({"effect", "rules", "reads", "writes", "upstream", "arguments_schema"})


def definition(name: str, tool: Tool, server: Server | None) -> str:
    """``sha256:<hex>`` of the tool ``name`` as the table has it; ``server``: the MCP server that its upstream names.

    In it: the pinned class and the rules, the footprint's templates, the upstream with all that belongs to it (kind, address,
    name of the tool there, function, statements and their role, headers and variables by reference), the server (command or
    address, headers and variables by reference) with the pin of this tool alone, and the schema of the arguments. All of it
    counts, whether or not it makes a difference to one call.

    Not in it: how long a call may take, how often and how many at once (``timeout``, ``window``, ``max_result``, ``limits``),
    how its answer or a doubt is treated (``max_age``, ``mask``, ``probe``), whether it may go early (``open_world``,
    ``speculate``), who is asked (``approval``, ``approval_expires``), the table's policy and what it says of other tools.
    Nothing of a call's arguments, so that it may stay where those are redacted.
    """
    called = tool.upstream.tool or name
    pins = None if server is None else server.pins
    return digest(
        {
            "tool": name,
            **tool.model_dump(mode="json", exclude_none=True, by_alias=True, include=set(_MEANING)),
            "server": None
            if server is None
            else server.model_dump(mode="json", exclude_none=True, exclude={"pins"}),
            "pin": None if pins is None else pins.get(called),
        }
    )
