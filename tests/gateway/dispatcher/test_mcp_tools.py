"""Turns whose tools are those of an MCP server: from the accepted call to the recorded outcome."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from effects.intent import IntentState, ResultStatus
from gateway.principal import everyone
from gateway.upstream.mcp.adapter import McpUpstream
from gateway.upstream.mcp.definitions import CHANGED, definition_digest
from ledger.events import EventType
from tests.gateway.dispatcher.floor import TENANT, Floor
from tests.gateway.toolserver import eventually
from tests.gateway.upstream.mcp_bench import TOOL, McpBench

TABLE = """
policy: {{reads_behind_writes: send}}
tools:
  read: {{effect: READ_ONLY, reads: [], timeout: {timeout}, upstream: {{mcp: peer, tool: tool}}}}
  put: {{effect: IDEMPOTENT, window: 1h, writes: ["{{key}}"], timeout: {timeout}, upstream: {{mcp: peer, tool: tool}}}}
  write: {{effect: WRITE, writes: ["{{key}}"], timeout: {timeout}, upstream: {{mcp: peer, tool: tool}}}}
servers: {{peer: {{command: {command}, pins: {{tool: "{pin}"}}}}}}
"""


@pytest.fixture
def peer(tmp_path: Path) -> McpBench:
    return McpBench(tmp_path, "stdio")


def put_in_force(floor: Floor, peer: McpBench, timeout: str = "10s") -> None:
    table = TABLE.format(timeout=timeout, command=json.dumps(peer.command), pin=definition_digest(TOOL))
    floor.tables.apply(everyone(TENANT), table)


@contextmanager
def dispatching(floor: Floor) -> Iterator[None]:
    with floor.dispatching(upstream=McpUpstream()):
        yield


@pytest.mark.parametrize("tool", ["read", "write"])
def test_a_call_is_sent_once_and_settled(floor: Floor, peer: McpBench, tool: str) -> None:
    put_in_force(floor, peer)
    peer.does_answer({"n": 1})
    turn = floor.turn(tool, key="a", n=1.0)
    with dispatching(floor):
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.OK
    assert peer.said(intent.result_content) == {"n": 1}
    [received] = peer.received()
    assert (intent.arguments_raw or "").encode() in received
    assert peer.carried() | {"traceparent": None} == {
        "commit_key": turn.key,
        "intent_id": intent.intent_id,
        "idempotency_key": intent.idempotency_key,
        "traceparent": None,
    }


def test_a_tool_error_says_in_the_ledger_which_layer_it_came_from(floor: Floor, peer: McpBench) -> None:
    put_in_force(floor, peer)
    peer.does_fail_in_protocol()
    turn = floor.turn("write", key="a")
    with dispatching(floor):
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.TOOL_ERROR
    assert turn.of(EventType.DISPATCH_SETTLED)[0]["layer"] == "protocol"


def test_a_tool_that_changed_is_not_called_and_the_turn_says_so(floor: Floor, peer: McpBench) -> None:
    put_in_force(floor, peer)
    peer.offers(TOOL | {"description": "Something else."})
    turn = floor.turn("write", key="a")
    with dispatching(floor):
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.UNAVAILABLE
    assert isinstance(intent.result_content, dict)
    assert intent.result_content["because"] == CHANGED
    assert [event["unsent"] for event in turn.of(EventType.DISPATCH_SETTLED)] == [True]
    assert peer.received() == []


def test_a_write_whose_server_did_it_and_then_dropped_the_connection_is_in_doubt_and_never_repeated(
    floor: Floor, peer: McpBench
) -> None:
    """ComposioHQ/composio 3654 and its kin: the transport sent tools/call again with a new request id."""
    put_in_force(floor, peer)
    peer.does_die()
    turn = floor.turn("write", n=1)
    with dispatching(floor):
        turn.until(IntentState.IN_DOUBT)
        peer.does_answer({})
        other = floor.turn("write", n=2)
        other.until(IntentState.SETTLED)
    assert turn.intent.state is IntentState.IN_DOUBT
    assert [line["message"]["params"]["arguments"] for line in peer.log()] == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("tool", ["read", "put"])
def test_what_may_be_repeated_is_repeated_after_a_dropped_connection_with_the_same_key_only(
    floor: Floor, peer: McpBench, tool: str
) -> None:
    put_in_force(floor, peer)
    peer.does_die()
    turn = floor.turn(tool, key="a")
    with dispatching(floor):
        eventually(peer.received)
        peer.does_answer({"n": 2})
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.OK
    sent = [line["message"]["params"]["_meta"] for line in peer.log()]
    assert len(sent) >= 2
    assert {meta.get("commitgate/idempotency_key") for meta in sent} == {intent.idempotency_key}
    assert {meta["commitgate/intent_id"] for meta in sent} == {intent.intent_id}


def test_a_write_that_outlives_its_timeout_is_settled_by_its_late_answer(
    floor: Floor, peer: McpBench
) -> None:
    put_in_force(floor, peer)
    peer.does_answer({})
    with dispatching(floor):
        floor.turn("write", key="first").until(IntentState.SETTLED)
        put_in_force(floor, peer, "300ms")
        peer.does_hold({"n": 3})
        turn = floor.turn("write", key="a")
        turn.until(IntentState.IN_DOUBT)
        peer.release()
        intent = turn.until(IntentState.SETTLED, final=True)
    assert peer.said(intent.result_content) == {"n": 3}
    assert turn.types.count("dispatch.late") == 1
    assert len(peer.received()) == 2
