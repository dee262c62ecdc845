"""The MCP inspector's command line (npm) against ``/mcp``: a client that shares no code with ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.desk import Desk
from tests.gateway.toolserver import ok

INSPECTOR = "@modelcontextprotocol/inspector-cli@0.15.0"

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("npm") is None, reason="no npm"),
]


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspector")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), INSPECTOR]
    made = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert made.returncode == 0, made.stderr
    return folder / "node_modules" / ".bin" / "mcp-inspector-cli"


def inspect(inspector: Path, desk: Desk, method: str, *more: str) -> dict[str, Any]:
    # The inspector guesses its transport by the path: one that ends in /mcp is streamable HTTP.
    command = [str(inspector), "--cli", desk.url, "--method", method, *more]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr
    return dict(json.loads(said.stdout))


@pytest.fixture(autouse=True)
def table(desk: Desk) -> None:
    desk.apply(
        look={"effect": "READ_ONLY", "reads": ["thing:{name}"]},
        change={"effect": "WRITE", "writes": ["thing:{name}"]},
    )


def test_the_inspector_lists_the_tools(inspector, desk):
    tools = inspect(inspector, desk, "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["change", "look"]


def test_the_inspector_calls_a_tool_once(inspector, desk):
    desk.tools.behave("/change", ok({"done": 1}))
    before = len(desk.tools.received("/change"))
    result = inspect(inspector, desk, "tools/call", "--tool-name", "change", "--tool-arg", "name=a")
    assert result["structuredContent"] == {"done": 1}
    assert not result["isError"]
    assert len(desk.tools.received("/change")) == before + 1


def test_the_inspector_sees_an_error_of_the_tool(inspector, desk):
    result = inspect(inspector, desk, "tools/call", "--tool-name", "nothing", "--tool-arg", "name=a")
    assert result["isError"]
    assert result["structuredContent"]["reason"] == "unknown_tool"
