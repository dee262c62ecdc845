"""The kinds of upstream that the matrix is run over: how their tools stand in the effect table."""

import json
from collections.abc import Callable, Mapping

from tests.crash.plan import TIMEOUT

Entry = Callable[[str, str], Mapping[str, object]]
"""The ``upstream:`` of a tool, from the tool server's URL and the tool's name."""


def over_http(url: str, tool: str) -> Mapping[str, object]:
    return {"http": f"{url}/{tool}"}


UPSTREAMS: Mapping[str, Entry] = {"http": over_http}


def effect_table(kind: str, url: str) -> str:
    """The table of the three tools over one kind of upstream, JSON being YAML."""
    entry = UPSTREAMS[kind]
    tools: dict[str, object] = {
        "read": {"effect": "READ_ONLY", "reads": ["{key}"]},
        "put": {"effect": "IDEMPOTENT", "window": "1h", "writes": ["{key}"]},
        "write": {"effect": "WRITE", "writes": ["{key}"]},
    }
    rows = {
        name: {**row, "timeout": f"{round(1000 * TIMEOUT)}ms", "upstream": entry(url, name)}
        for name, row in tools.items()
        if isinstance(row, dict)
    }
    return json.dumps({"policy": {"reads_behind_writes": "hold"}, "tools": rows})
