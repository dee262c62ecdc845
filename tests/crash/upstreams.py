"""The kinds of upstream that the matrix is run over: how their tools stand in the effect table."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.crash.plan import HTTP, MCP_HTTP, MCP_STDIO, PYTHON, pace
from tests.processes import ROOT

Entry = Callable[[str, Path, str], Mapping[str, object]]
"""The ``upstream:`` of a tool, from the tool server's URL, the folder of the tools' world and the tool's name."""

ALIAS = "crash"


FOLDER = "CRASH_FOLDER"
"""Variable of the processes of Python functions."""


def over_http(url: str, _folder: Path, tool: str) -> Mapping[str, object]:
    return {"http": f"{url}/{tool}"}


def over_mcp(_url: str, _folder: Path, _tool: str) -> Mapping[str, object]:
    return {"mcp": ALIAS}


def in_python(_url: str, folder: Path, tool: str) -> Mapping[str, object]:
    return {"python": f"tests.crash.callable_tool:{tool}", "env": {FOLDER: str(folder)}}


UPSTREAMS: Mapping[str, Entry] = {
    HTTP: over_http,
    MCP_HTTP: over_mcp,
    MCP_STDIO: over_mcp,
    PYTHON: in_python,
}


def effect_table(kind: str, url: str, folder: Path) -> str:
    """The table of the three tools over one kind of upstream, JSON being YAML."""
    tools: dict[str, dict[str, object]] = {
        "read": {"effect": "READ_ONLY", "reads": ["{key}"]},
        "put": {"effect": "IDEMPOTENT", "window": "1h", "writes": ["{key}"]},
        "write": {"effect": "WRITE", "writes": ["{key}"]},
    }
    timeout = f"{round(1000 * pace(kind).timeout)}ms"
    rows = {
        name: {**row, "timeout": timeout, "upstream": UPSTREAMS[kind](url, folder, name)}
        for name, row in tools.items()
    }
    table: dict[str, object] = {"policy": {"reads_behind_writes": "hold"}, "tools": rows}
    if kind == MCP_HTTP:
        table["servers"] = {ALIAS: {"url": f"{url}/mcp"}}
    if kind == MCP_STDIO:
        # Without what is installed, which takes longer to load than a call may wait.
        command = [sys.executable, "-S", "-m", "tests.crash.stdio_tool", str(folder)]
        table["servers"] = {ALIAS: {"command": command, "env": {"PYTHONPATH": str(ROOT)}}}
    return json.dumps(table)
