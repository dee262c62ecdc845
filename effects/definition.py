"""What a person approves beside the arguments of a call: as what it goes, and where to."""

from effects.canonical import digest
from effects.table import Classification


def definition(judged: Classification) -> str:
    """``sha256:<hex>`` of what the table says about where a call goes and what it is there.

    Its class, its footprint, its upstream with all that belongs to it (address, headers by reference, statements, function),
    the MCP server that it names, and what that tool of the server is pinned to. Not how long it may take, how often it may
    be called, how its answer is treated, or what is asked for approval: an approval stays good when those change.
    """
    upstream, server = judged.upstream, judged.server
    called = None if upstream is None else upstream.tool or judged.tool
    return digest(
        {
            "tool": judged.tool,
            "effect": judged.effect.value,
            "footprint": judged.footprint.to_json(),
            "upstream": None if upstream is None else upstream.model_dump(mode="json", exclude_none=True),
            "server": None
            if server is None
            else server.model_dump(mode="json", exclude_none=True, exclude={"pins"}),
            "pin": None if server is None or server.pins is None else server.pins.get(called or ""),
        }
    )
