"""The kinds of upstream that the matrix is run over: how their tools stand in the effect table."""

import json
from collections.abc import Callable, Mapping

from tests.crash.plan import TIMEOUT

Entry = Callable[[str, str], Mapping[str, object]]
"""The ``upstream:`` of a tool, from the tool server's URL and the tool's name."""

ALIAS = "crash"


def over_http(url: str, tool: str) -> Mapping[str, object]:
    return {"http": f"{url}/{tool}"}


def over_mcp(_url: str, _tool: str) -> Mapping[str, object]:
    return {"mcp": ALIAS}


UPSTREAMS: Mapping[str, Entry] = {"http": over_http, "mcp-http": over_mcp}


def effect_table(kind: str, url: str) -> str:
    """The table of the three tools over one kind of upstream, JSON being YAML."""
    tools: dict[str, dict[str, object]] = {
        "read": {"effect": "READ_ONLY", "reads": ["{key}"]},
        "put": {"effect": "IDEMPOTENT", "window": "1h", "writes": ["{key}"]},
        "write": {"effect": "WRITE", "writes": ["{key}"]},
    }
    timeout = f"{round(1000 * TIMEOUT)}ms"
    rows = {
        name: {**row, "timeout": timeout, "upstream": UPSTREAMS[kind](url, name)}
        for name, row in tools.items()
    }
    table: dict[str, object] = {"policy": {"reads_behind_writes": "hold"}, "tools": rows}
    if kind == "mcp-http":
        table["servers"] = {ALIAS: {"url": f"{url}/mcp"}}
    return json.dumps(table)
