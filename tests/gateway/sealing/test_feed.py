"""The sealed feed across processes: two gateways append, one is killed between two pages, no event is skipped or told twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx2

from tests.gateway.http.front import Writer
from tests.processes import Process, gateway

STREAMS = 4
TEXTS = 30
PATIENCE = 60.0


def _append(process: Process, name: str, began: threading.Event) -> None:
    """Streams that go on together, as decoders would write them."""
    with httpx2.Client(base_url=process.ready["listening"], timeout=60) as client:
        writers = []
        for number in range(STREAMS):
            body = {"commit_key": f"{name}-{number}", "tool_calls": {"format": "hermes", "from": "detected"}}
            opened = client.post("/v1/streams", json=body).json()
            writers.append(Writer(client, opened["commit_key"], opened["writer_epoch"]))
        for number in range(TEXTS):
            for writer in writers:
                writer.write({"type": "tokens.accepted", "round": 0, "tokens": [{"text": str(number)}]})
            if number == TEXTS // 3:
                began.set()
        for writer in writers:
            writer.finish("stop")


class Tail:
    """A reader of the feed that keeps nothing but its cursor."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.cursor: str | None = None
        self.more = True

    def page(self, process: Process) -> None:
        params = {"limit": 7} | ({} if self.cursor is None else {"after": self.cursor})
        answer = httpx2.get(process.ready["listening"] + "/v1/ledger/events", params=params, timeout=60)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        self.events += body["events"]
        self.cursor, self.more = body["cursor"], body["more"]


def test_every_event_once_and_in_order_whoever_appends_and_dies(
    environ: dict[str, str], tmp_path: Path
) -> None:
    tail = Tail()
    with gateway(tmp_path, environ) as first, gateway(tmp_path, environ) as second:
        told = [threading.Event(), threading.Event()]
        threads = [
            threading.Thread(target=_append, args=(second, name, event), daemon=True)
            for name, event in zip(("a", "b"), told, strict=True)
        ]
        other = threading.Event()
        lone = threading.Thread(target=_append_until_killed, args=(first, other), daemon=True)
        for thread in (*threads, lone):
            thread.start()
        assert other.wait(PATIENCE)
        while len(tail.events) < 20:
            tail.page(first)
        first.kill()
        for thread in (*threads, lone):
            thread.join(PATIENCE)
            assert not thread.is_alive()
        written = _written(second)
        while tail.more or len(tail.events) < len(written):
            tail.page(second)
    assert [event["index"] for event in tail.events] == list(range(len(written)))
    assert sorted((event["commit_key"], event["seq"]) for event in tail.events) == written
    seen: dict[str, int] = {}
    for event in tail.events:
        assert event["seq"] == seen.get(event["commit_key"], 0) + 1
        seen[event["commit_key"]] = event["seq"]


def _append_until_killed(process: Process, began: threading.Event) -> None:
    try:
        _append(process, "killed", began)
    except (httpx2.HTTPError, AssertionError):
        return


def _written(process: Process) -> list[tuple[str, int]]:
    """Every event that is there, by stream."""
    found = []
    with httpx2.Client(base_url=process.ready["listening"], timeout=60) as client:
        for key in (f"{name}-{number}" for name in ("a", "b", "killed") for number in range(STREAMS)):
            events = client.get(f"/v1/streams/{key}/events", params={"limit": 1000})
            if events.status_code == 200:
                found += [(key, event["seq"]) for event in events.json()["events"]]
    return sorted(found)
