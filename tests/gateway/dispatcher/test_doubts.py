"""Doubts: found within the lease and a sweep of the loss, told at once, settled by a word that is kept, sent never again."""

import os
import signal
import time

import pytest
from structlog.testing import capture_logs

from effects.intent import IntentState, ResultStatus
from gateway.errors import NotInDoubt
from gateway.principal import everyone
from gateway.service.doubts import Doubts
from ledger.events import EventType
from ledger.listing import open_doubts
from tests.gateway.dispatcher.floor import FAST, TENANT, Floor, with_settings
from tests.gateway.dispatcher.test_leases import worker_process
from tests.gateway.toolserver import eventually, ok
from tests.postgres import TestDatabase

LEASE = 0.6
"""Seconds of the worker process's leases: its timeout of .5 s is shorter."""

SLACK = 3.0
"""Seconds that a busy machine may take beside lease and sweep."""


def test_a_write_whose_process_is_killed_is_in_doubt_within_lease_and_sweep_and_told(
    floor: Floor, database: TestDatabase
) -> None:
    floor.put_in_force(timeout="500ms")
    floor.tools.hold("/write")
    turn = floor.turn("write", key="a")
    before = open_doubts(floor.engine)
    with (
        capture_logs() as logs,
        worker_process(database) as process,
        floor.dispatching(with_settings(concurrency=0)),
    ):
        floor.tools.await_received("/write")
        os.kill(process.pid, signal.SIGKILL)
        lost = time.monotonic()
        turn.until(IntentState.IN_DOUBT)
        took = time.monotonic() - lost
        # Said once it is durable: whoever sees the doubt first, and stops the dispatcher then, may be faster.
        eventually(lambda: any(log["event"] == "doubt_opened" for log in logs))
    assert took < LEASE + FAST.sweep_interval + SLACK
    [told] = [log for log in logs if log["event"] == "doubt_opened"]
    assert (told["log_level"], told["commit_key"], told["tool"]) == ("error", turn.key, "write")
    assert told["because"] == "lease_expired"
    now = open_doubts(floor.engine)
    assert (before.count, now.count) == (0, 1)
    assert now.oldest_seconds > 0
    doubts = Doubts(floor.engine, floor.ledger, floor.tables, floor.clock)
    [listed] = doubts.list(everyone(TENANT))
    assert (listed["commit_key"], listed["state"]) == (turn.key, "in_doubt")
    evidence = {"name": "statement.txt", "text": "no such order"}
    doubts.resolve(
        everyone(TENANT), turn.key, turn.intent.intent_id, happened=False, reason="looked", evidence=evidence
    )
    [resolved] = turn.of(EventType.DISPATCH_RESOLVED)
    assert (resolved["reason"], resolved["evidence"]) == ("looked", evidence)
    assert turn.intent.result_status is ResultStatus.NOT_HAPPENED
    with floor.dispatching():
        floor.turn("read").until(IntentState.SETTLED)
    assert len(floor.tools.received("/write")) == 1
    assert open_doubts(floor.engine).count == 0
    with pytest.raises(NotInDoubt):
        doubts.resolve(everyone(TENANT), turn.key, turn.intent.intent_id, happened=True, reason="again")


def test_a_late_answer_settles_an_open_doubt_and_is_kept_as_evidence_of_a_resolved_one(floor: Floor) -> None:
    floor.put_in_force(timeout="200ms")
    held = floor.tools.hold("/write", ok({"n": 1}))
    open_, resolved = floor.turn("write", n=1), floor.turn("write", n=2)
    doubts = Doubts(floor.engine, floor.ledger, floor.tables, floor.clock)
    with floor.dispatching():
        for turn in (open_, resolved):
            turn.until(IntentState.IN_DOUBT)
        doubts.resolve(
            everyone(TENANT), resolved.key, resolved.intent.intent_id, happened=False, reason="nobody saw it"
        )
        held.release()
        assert open_.until(IntentState.SETTLED, final=True).result_content == {"n": 1}
        eventually(lambda: resolved.of(EventType.DISPATCH_LATE))
    assert resolved.intent.result_status is ResultStatus.NOT_HAPPENED
    [late] = resolved.of(EventType.DISPATCH_LATE)
    assert late["content"] == {"n": 1}
    assert len(floor.tools.received("/write")) == 2
