"""A tool is its definition: what changed is not called until the operator has seen it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from effects.upstream import Server
from gateway.upstream.mcp.adapter import McpUpstream
from gateway.upstream.mcp.definitions import CHANGED, Quarantine, definition_digest, digests
from gateway.upstream.port import Answered, NotSent
from tests.gateway.upstream.mcp_bench import TOOL, McpBench
from tests.gateway.upstream.running import Running

OTHER = TOOL | {"description": "Deletes everything."}


def pinned(server: Server, **pins: str) -> Server:
    return server.model_copy(update={"pins": pins})


@pytest.fixture(params=["stdio", "stdio legacy", "http", "http legacy"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[McpBench]:
    wire, *legacy = request.param.split()
    peer = McpBench(tmp_path, wire, legacy=bool(legacy))
    yield peer
    peer.stop()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_tool_that_changes_while_the_session_lasts_is_quarantined_until_it_is_pinned_again(
    bench: McpBench,
) -> None:
    upstream = McpUpstream()
    seen = pinned(bench.server, tool=definition_digest(TOOL))
    with Running(upstream) as running:
        assert isinstance(running.send(bench.call(server=seen)), Answered)
        bench.does("announce", content={})
        bench.offers(OTHER)
        assert isinstance(running.send(bench.call(server=seen)), Answered)
        bench.does_answer({})
        with capture_logs() as logs:
            reply = _until_held(running, bench, seen)
        assert reply.lasting
        assert reply.detail is not None
        assert definition_digest(OTHER) in reply.detail
        assert [log["event"] for log in logs if log["event"] == CHANGED] == [CHANGED]
        assert [held.tool for held in upstream.quarantine.list()] == ["tool"]
        received = len(bench.received())
        assert running.send(bench.call(server=seen)) == NotSent(CHANGED)
        assert len(bench.received()) == received
        again = pinned(bench.server, tool=definition_digest(OTHER))
        assert isinstance(running.send(bench.call(server=again)), Answered)
        assert len(upstream.quarantine) == 0


def _until_held(running: Running, bench: McpBench, server: Server) -> NotSent:
    """The announcement travels beside the answer, so a call or two may still go."""
    for _ in range(100):
        reply = running.send(bench.call(server=server))
        if isinstance(reply, NotSent):
            assert reply.because == CHANGED
            return reply
    raise AssertionError("nobody heard of the change")


@pytest.fixture
def quiet(tmp_path: Path) -> McpBench:
    return McpBench(tmp_path, "stdio")


def test_a_change_that_nobody_announced_is_found_when_the_listing_is_old(quiet: McpBench) -> None:
    clock = Clock()
    seen = pinned(quiet.server, tool=definition_digest(TOOL))
    with Running(McpUpstream(recheck=30, monotonic=clock)) as running:
        assert isinstance(running.send(quiet.call(server=seen)), Answered)
        quiet.offers(OTHER)
        clock.now = 29
        assert isinstance(running.send(quiet.call(server=seen)), Answered)
        clock.now = 30
        assert running.send(quiet.call(server=seen)) == NotSent(CHANGED)


def test_the_first_call_of_a_session_is_not_sent_to_a_tool_that_changed_meanwhile(quiet: McpBench) -> None:
    seen = pinned(quiet.server, tool=definition_digest(OTHER))
    with Running(McpUpstream()) as running:
        assert running.send(quiet.call(server=seen)) == NotSent(CHANGED)
        quiet.offers(OTHER)
        running.close_upstream()
        assert isinstance(running.send(quiet.call(server=seen)), Answered)
    assert len(quiet.received()) == 1


def test_a_tool_that_is_not_there_any_more_is_not_called(quiet: McpBench) -> None:
    quiet.offers(TOOL | {"name": "another"})
    seen = pinned(quiet.server, tool=definition_digest(TOOL))
    with Running(McpUpstream()) as running:
        assert running.send(quiet.call(server=seen)) == NotSent(CHANGED)
    assert quiet.received() == []


def test_without_pins_a_tool_is_held_to_the_first_definition_that_was_seen(quiet: McpBench) -> None:
    with Running(McpUpstream()) as running:
        assert isinstance(running.send(quiet.call()), Answered)
        quiet.offers(OTHER)
        running.close_upstream()
        assert running.send(quiet.call()) == NotSent(CHANGED)
        quiet.offers(TOOL)
        running.close_upstream()
        assert isinstance(running.send(quiet.call()), Answered)


def test_another_tool_of_the_server_is_called_all_the_same(quiet: McpBench) -> None:
    second = TOOL | {"name": "second"}
    quiet.offers(OTHER, second)
    seen = pinned(quiet.server, tool=definition_digest(TOOL), second=definition_digest(second))
    with Running(McpUpstream()) as running:
        assert running.send(quiet.call(server=seen)) == NotSent(CHANGED)
        assert isinstance(running.send(quiet.call(server=seen, tool="second")), Answered)


@pytest.mark.parametrize(
    "change",
    [
        {"description": "x"},
        {"inputSchema": {"type": "object", "required": ["a"]}},
        {"outputSchema": {"type": "object"}},
        {"annotations": {"readOnlyHint": False}},
        {"name": "x"},
    ],
)
def test_every_member_that_defines_a_tool_changes_its_digest(change: dict[str, Any]) -> None:
    assert definition_digest(TOOL | change) != definition_digest(TOOL)


def test_what_defines_nothing_and_the_order_of_names_do_not() -> None:
    assert definition_digest(TOOL | {"title": "x", "icons": [], "outputSchema": None}) == definition_digest(
        dict(reversed(TOOL.items()))
    )


def test_two_tools_of_one_name_and_one_that_cannot_be_read_have_no_digest() -> None:
    unreadable = {"name": "big", "inputSchema": {"maximum": 2**60}}
    assert digests([TOOL, OTHER, unreadable]) == {"tool": None, "big": None}


def test_a_tool_without_a_digest_is_not_called_even_without_pins() -> None:
    assert Quarantine().judge(("t", "s"), "big", None, None) is not None
