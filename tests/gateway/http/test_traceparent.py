"""A trace context that comes with a request reaches the tool, whichever way the call is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.client import Client

from ledger.events import Event, EventType
from ledger.redaction.remains import of_intent
from tests.gateway.desk import Desk, open_desk
from tests.gateway.http.front import block, cut
from tests.gateway.toolserver import eventually
from tests.postgres import TestDatabase

FIRST, SECOND = (f"00-{digit * 32}-{digit * 16}-01" for digit in "12")


@pytest.fixture(scope="module")
def desk(module_database: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    home: Path = tmp_path_factory.mktemp("home")
    with open_desk(module_database, home) as made:
        made.apply(look={"effect": "READ_ONLY", "reads": []}, change={"effect": "WRITE", "writes": []})
        yield made


def _heard(desk: Desk, path: str) -> list[str]:
    return [received.headers["traceparent"] for received in desk.tools.received(path)]


def test_of_a_batch_of_a_posted_call_and_of_the_stream(desk: Desk) -> None:
    client = desk.front.client
    body = {"commit_key": "traced", "tool_calls": {"format": "hermes", "from": "posted"}}
    opened = client.post("/v1/streams", json=body, headers={"traceparent": FIRST}).json()
    text = block("change", n=1)
    event = {"type": "tokens.accepted", "round": 0, "tokens": cut(text)}
    batch = {"writer_epoch": opened["writer_epoch"], "batch_id": "b", "events": [event]}
    for trace in (FIRST, SECOND):
        written = client.post("/v1/streams/traced/events", json=batch, headers={"traceparent": trace})
        assert written.is_success, written.text
    assert written.headers["idempotent-replayed"] == "true"  # a trace is no part of what was sent
    posted = {"span": [0, len(event["tokens"])], "tool": "change", "arguments": {"n": 1}}
    answer = client.post("/v1/streams/traced/intents", json=posted, headers={"traceparent": SECOND})
    assert answer.status_code == 202, answer.text
    eventually(lambda: _heard(desk, "/change") == [SECOND])
    held = next(event for event in _events(desk, "traced") if event.type is EventType.INTENT_HELD)
    assert held.payload["traceparent"] == SECOND
    assert "traceparent" not in (of_intent(held, lambda _tool: True) or {})


def test_of_each_call_at_the_mcp_front(desk: Desk) -> None:
    async def run() -> None:
        async with Client(desk.url) as client:
            for trace in (FIRST, SECOND):
                meta = {"traceparent": trace, "commitgate/commit_key": "by-mcp"}
                await client.call_tool("look", {"n": trace}, meta=meta)  # type: ignore[arg-type]

    asyncio.run(run())
    assert _heard(desk, "/look") == [FIRST, SECOND]


def test_what_is_no_trace_context_is_left_out(desk: Desk) -> None:
    body = {"commit_key": "untraced", "tool_calls": {"format": "hermes", "from": "posted"}}
    answer = desk.front.client.post("/v1/streams", json=body, headers={"traceparent": "00-nonsense"})
    assert answer.status_code == 201
    [opened] = _events(desk, "untraced")
    assert opened.payload["labels"] == {}


def _events(desk: Desk, key: str) -> list[Event]:
    return desk.front.ledger.events("default", key, after=0, limit=100)
