"""Tools are called from one place: whatever reaches them another way is in no ledger (openclaw/openclaw 119253)."""

import ast
from pathlib import Path

import pytest

from gateway.turn.dispatching import Assignment
from gateway.upstream.mcp import adapter
from gateway.upstream.port import MaybeSent
from tests.gateway.upstream.mcp_bench import McpBench
from tests.gateway.upstream.running import Running

ROOT = Path(__file__).parents[3]
ADAPTERS = {"CallablesUpstream", "HttpUpstream", "McpUpstream", "PostgresUpstream", "Routes"}


def named(file: Path) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name)}


def modules() -> list[Path]:
    found = [
        file
        for package in ("gateway", "ledger", "effects", "decoding")
        for file in (ROOT / package).rglob("*.py")
    ]
    assert len(found) > 100
    return found


def test_adapters_are_made_at_the_composition_root_alone() -> None:
    users = {str(file.relative_to(ROOT)) for file in modules() if named(file) & ADAPTERS}
    assert {user for user in users if not user.startswith("gateway/upstream/")} == {"gateway/running.py"}


def test_calls_are_sent_by_the_dispatcher_alone() -> None:
    """Whoever could send has to hold a call to be sent."""
    users = {str(file.relative_to(ROOT)) for file in modules() if Assignment.__name__ in named(file)}
    assert {user.rsplit("/", 1)[0] for user in users} <= {
        "gateway/turn",
        "gateway/dispatcher",
        "gateway/upstream",
        "gateway/upstream/mcp",
        "gateway/upstream/postgres",
        "gateway/upstream/callables",
    }


def test_what_breaks_after_the_tool_ran_leaves_a_call_that_may_have_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """agentrust-io/cmcp 571: an exception between the tool's answer and the record of it left no record at all."""

    def breaks(*_: object) -> None:
        raise RuntimeError("after the tool ran")

    bench = McpBench(tmp_path, "stdio")
    monkeypatch.setattr(adapter, "of_result", breaks)
    with Running(adapter.McpUpstream()) as running:
        assert running.send(bench.call()) == MaybeSent("failed_runtimeerror")
    assert len(bench.received()) == 1
