"""A runtime that comes back under its commit key, after its gateway was killed in the middle of a turn.

Each test is named after what went wrong for others: results of a batch lost with the batch, a prompt replayed after some
tools had run, a parallel call that nobody ever made, two owners of one execution.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests import processes
from tests.gateway.toolserver import ToolServer, eventually, ok
from tests.postgres import TestDatabase

TABLE = """
policy: {{write_order: footprint}}
tools:
  write: {{effect: WRITE, writes: ["order:{{id}}"], timeout: 1s, upstream: {{http: "{url}/write"}}}}
  slow: {{effect: WRITE, writes: ["order:{{id}}"], timeout: 1s, upstream: {{http: "{url}/slow"}}}}
  read: {{effect: READ_ONLY, reads: ["order:{{id}}"], timeout: 1s, upstream: {{http: "{url}/read"}}}}
"""
SETTINGS = {
    "COMMITGATE_LEASE_SECONDS": "1",
    "COMMITGATE_LEASE_MARGIN": "0.2",
    "COMMITGATE_SWEEP_SECONDS": "0.1",
    "COMMITGATE_POLL_SECONDS": "0.03",
    "COMMITGATE_LATE_WAIT_SECONDS": "5",
}


class Runtime:
    """An agent runtime, as HTTP sees it. ``epoch``: that of its opening."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self.key = key
        opened = self.post("/v1/streams", commit_key=key, tool_calls={"format": "hermes", "from": "posted"})
        assert opened.status_code in (200, 201), opened.text
        self.epoch = int(opened.json()["writer_epoch"])
        self.head = int(opened.json()["branches"]["main"]["head"])

    def post(self, path: str, **body: object) -> httpx2.Response:
        return httpx2.post(self._url + path, json=body, timeout=30.0)

    def write(self, batch: str, *events: dict[str, object], epoch: int | None = None) -> httpx2.Response:
        path = f"/v1/streams/{self.key}/events"
        return self.post(path, writer_epoch=epoch or self.epoch, batch_id=batch, events=list(events))

    def say(self, batch: str, *calls: tuple[str, object]) -> httpx2.Response:
        """Accept one token for each call."""
        return self.write(
            batch, {"type": "tokens.accepted", "round": 0, "tokens": [{"text": spelled(*c)} for c in calls]}
        )

    def ask(self, at: int, tool: str, id_: object) -> httpx2.Response:
        """Post the call that token ``at`` spells."""
        path = f"/v1/streams/{self.key}/intents"
        return self.post(path, round=0, span=[at, at + 1], tool=tool, arguments={"id": id_})

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = httpx2.get(f"{self._url}/v1/streams/{self.key}").json()
        return shown

    def until(self, intent_id: str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        path = f"{self._url}/v1/streams/{self.key}/intents/{intent_id}"

        def look() -> dict[str, Any] | None:
            intent: dict[str, Any] = httpx2.get(path).json()
            return intent if reached(intent) else None

        return eventually(look)


def spelled(tool: str, id_: object) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': {'id': id_}})}</tool_call>"


def final(intent: dict[str, Any]) -> bool:
    return bool(intent["final"])


def in_doubt(intent: dict[str, Any]) -> bool:
    return bool(intent["state"] == "in_doubt")


@pytest.fixture
def tools() -> Iterator[ToolServer]:
    with ToolServer() as server:
        yield server


@pytest.fixture
def gateway(
    database: TestDatabase, tools: ToolServer, tmp_path: Path
) -> Iterator[Callable[[], processes.Process]]:
    """Starts gateways over one database, with the effect table in force."""
    environ = {
        **SETTINGS,
        "COMMITGATE_DATABASE_URL": database.service_url,
        "COMMITGATE_HOME": str(tmp_path / "home"),
    }
    running: list[processes.Process] = []

    def start() -> processes.Process:
        process = processes.gateway(tmp_path, environ)
        running.append(process)
        put = httpx2.post(
            f"{process.ready['listening']}/v1/effects",
            content=TABLE.format(url=tools.url),
            headers={"content-type": "application/yaml"},
        )
        assert put.status_code in (200, 201), put.text
        return process

    yield start
    for process in running:
        process.kill()


def crash(process: processes.Process) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.kill()


def url(process: processes.Process) -> str:
    return str(process.ready["listening"])


def test_killed_after_the_second_of_three_results_the_third_is_in_doubt_and_nothing_is_made_again(
    gateway: Callable[[], processes.Process], tools: ToolServer
) -> None:
    """leviath #96, adk-python #7108: results were kept by the batch, and a sibling's answer hid a call that was lost."""
    tools.behave("/write", ok({"n": 1}))
    tools.hold("/slow")
    first = gateway()
    runtime = Runtime(url(first), "batch")
    said = runtime.say("b1", ("write", 1), ("write", 2), ("slow", 3))
    ids = [
        runtime.ask(at, *call).json()["intent_id"]
        for at, call in enumerate((("write", 1), ("write", 2), ("slow", 3)))
    ]
    for intent_id in ids[:2]:
        runtime.until(intent_id, final)
    tools.await_received("/slow")
    crash(first)
    second = gateway()
    again = Runtime(url(second), "batch")
    assert (again.epoch, again.head) == (runtime.epoch + 1, 3)
    assert again.show()["branches"]["main"]["text"] == "".join(
        spelled(*call) for call in (("write", 1), ("write", 2), ("slow", 3))
    )
    # The runtime replays what it did: its batch and its calls are answered from the ledger.
    replay = runtime_on(again, runtime.epoch).say("b1", ("write", 1), ("write", 2), ("slow", 3))
    assert (replay.status_code, replay.json()) == (200, said.json())
    for at in (0, 1):
        answered = again.ask(at, "write", at + 1)
        assert (answered.status_code, answered.json()["result"]) == (
            200,
            {"status": "ok", "content": {"n": 1}},
        )
    third = again.until(ids[2], in_doubt)
    assert (third["attempts"], "result" in third) == (1, False)
    assert (len(tools.received("/write")), len(tools.received("/slow"))) == (2, 1)


def runtime_on(runtime: Runtime, epoch: int) -> Runtime:
    runtime.epoch = epoch
    return runtime


def test_a_second_attempt_that_says_the_same_is_a_replay_and_one_that_says_other_things_is_refused(
    gateway: Callable[[], processes.Process], tools: ToolServer
) -> None:
    """openclaw #43482, langgraph #8039: a fallback replayed the prompt after some of its tools had run."""
    first = gateway()
    runtime = Runtime(url(first), "fallback")
    runtime.say("b1", ("write", 1))
    known = runtime.ask(0, "write", 1).json()["intent_id"]
    runtime.until(known, final)
    crash(first)
    again = Runtime(url(gateway()), "fallback")
    same, other = again.ask(0, "write", 1), again.ask(0, "write", 2)
    assert (same.status_code, same.json()["intent_id"]) == (200, known)
    assert (other.status_code, other.json()["code"], other.json()["field"]) == (
        422, "diverges_from_tokens", "arguments",
    )  # fmt: skip
    fork = again.post(
        "/v1/streams",
        commit_key="fork",
        fork_of="fallback",
        tool_calls={"format": "hermes", "from": "detected"},
    )
    assert fork.status_code == 201
    assert len(tools.received("/write")) == 1


def test_two_runtimes_on_one_commit_key_the_older_is_fenced_and_each_call_is_made_once(
    gateway: Callable[[], processes.Process], tools: ToolServer
) -> None:
    """opencrabs #1100: after a failover two owners believed that they run the tools."""
    one, two = gateway(), gateway()
    older = Runtime(url(one), "shared")
    newer = Runtime(url(two), "shared")
    late = older.say("late", ("write", 8))
    assert (late.status_code, late.json()["code"]) == (409, "stale_writer")
    newer.say("b1", ("write", 1), ("write", 2))
    for at in (0, 1):
        answers = [runtime.ask(at, "write", at + 1) for runtime in (older, newer)]
        assert len({a.json()["intent_id"] for a in answers}) == 1
        newer.until(answers[0].json()["intent_id"], final)
    assert len(tools.received("/write")) == 2
