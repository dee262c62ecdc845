"""Workers that die, freeze, race or lose their lease: at most one effect, and nothing is lost silently."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from effects.intent import IntentState, ResultStatus
from gateway.dispatcher import call
from gateway.failpoints import FailPoint
from ledger.append import Ledger
from ledger.errors import LedgerUnavailable
from ledger.events import EventType
from tests.gateway.dispatcher.floor import Floor, Pauses, with_settings
from tests.gateway.toolserver import eventually, ok, status
from tests.postgres import TestDatabase


class Unrenewing(Ledger):
    """A ledger that cannot be reached to renew a lease."""

    def renew(self, *_names: object, **_more: object) -> bool:
        raise LedgerUnavailable("away")


@contextmanager
def worker_process(database: TestDatabase) -> Iterator[subprocess.Popen[bytes]]:
    command = [
        sys.executable,
        "-m",
        "tests.gateway.dispatcher.worker_process",
        database.service_url,
        "w-process",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_call_longer_than_its_lease_keeps_it(floor: Floor) -> None:
    held = floor.tools.hold("/write")
    turn = floor.turn("write", key="a")
    settings = with_settings(lease_floor=3.0, lease_margin=-9.0)
    with floor.dispatching(settings), floor.dispatching(settings):
        floor.tools.await_received("/write")
        first = floor.licences(turn)[0]["lease_until"]
        longer = first + timedelta(seconds=3)
        eventually(lambda: floor.licences(turn)[0]["lease_until"] > longer)
        assert turn.intent.state is IntentState.DISPATCHED
        held.release()
        turn.until(IntentState.SETTLED, final=True)
    assert len(floor.tools.received("/write")) == 1
    assert floor.licences(turn)[0]["epoch"] == 1


@pytest.mark.parametrize("tool", ["read", "put", "write"])
def test_two_dispatchers_race_and_each_call_is_sent_once(floor: Floor, tool: str) -> None:
    turns = [floor.turn(tool, key=f"k{n}") for n in range(12)]
    with floor.dispatching(), floor.dispatching():
        for turn in turns:
            turn.until(IntentState.SETTLED, final=True)
    assert len(floor.tools.received(f"/{tool}")) == len(turns)
    assert {turn.intent.attempts for turn in turns} == {1}


def test_a_write_of_a_dispatcher_that_ended_mid_call_is_in_doubt(floor: Floor) -> None:
    floor.tools.hold("/write")
    turn = floor.turn("write", key="a")
    with floor.dispatching(with_settings(lease_floor=0.6, lease_margin=-9.4)):
        floor.tools.await_received("/write")
    assert turn.intent.state is IntentState.DISPATCHED
    with floor.dispatching():
        assert turn.until(IntentState.IN_DOUBT).reason == "lease_expired"
    assert len(floor.tools.received("/write")) == 1
    assert [licence["open"] for licence in floor.licences(turn)] == [False]


@pytest.mark.parametrize("tool", ["read", "put"])
def test_what_may_be_repeated_is_sent_again_after_its_dispatcher_ended(floor: Floor, tool: str) -> None:
    held = floor.tools.hold(f"/{tool}")
    floor.tools.behave(f"/{tool}", held, ok({"n": 2}))
    turn = floor.turn(tool, key="a")
    # A lease of 0.6 s, the timeout is longer: the call is cancelled, not timed out.
    with floor.dispatching(with_settings(lease_floor=0.6, lease_margin=-9.4)):
        floor.tools.await_received(f"/{tool}")
    assert turn.intent.state is IntentState.DISPATCHED
    with floor.dispatching():
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_content == {"n": 2}
    assert intent.attempts == 2
    if tool == "put":
        assert len({r.headers["idempotency-key"] for r in floor.tools.received("/put")}) == 1


def test_a_killed_process_leaves_a_doubt_and_one_effect(floor: Floor, database: TestDatabase) -> None:
    floor.put_in_force(timeout="500ms")
    floor.tools.hold("/write")
    turn = floor.turn("write", key="a")
    with worker_process(database) as process:
        floor.tools.await_received("/write")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with floor.dispatching():
        turn.until(IntentState.IN_DOUBT)
        floor.turn("read").until(IntentState.SETTLED)
    assert len(floor.tools.received("/write")) == 1
    assert turn.types.count("dispatch.started") == 1


def test_a_frozen_process_is_fenced_and_its_outcome_is_late(floor: Floor, database: TestDatabase) -> None:
    floor.put_in_force(timeout="1s")
    held = floor.tools.hold("/write", ok({"n": 5}))
    turn = floor.turn("write", key="a")
    with worker_process(database) as process:
        floor.tools.await_received("/write")
        os.kill(process.pid, signal.SIGSTOP)
        try:
            with floor.dispatching():
                assert turn.until(IntentState.IN_DOUBT).reason == "lease_expired"
            held.release()
        finally:
            os.kill(process.pid, signal.SIGCONT)
        intent = turn.until(IntentState.SETTLED, final=True)
    assert (intent.result_status, intent.result_content) == (ResultStatus.OK, {"n": 5})
    assert turn.types.count("dispatch.late") == 1
    assert len(floor.tools.received("/write")) == 1
    [licence] = floor.licences(turn)
    assert (licence["open"], licence["epoch"]) == (False, 2)


def test_a_worker_whose_lease_was_seized_sends_nothing_more(floor: Floor) -> None:
    floor.put_in_force(timeout="200ms")
    floor.tools.behave("/read", status(503), ok({"n": 2}))
    pauses = Pauses()
    pauses.hold()
    turn = floor.turn("read")
    fenced = floor.dispatcher(
        with_settings(lease_floor=0.6, sweep_interval=600.0), sleep=pauses, ledger=_unrenewing(floor)
    )
    fenced.start()
    try:
        assert pauses.began.wait(20)
        with floor.dispatching(with_settings()):
            intent = turn.until(IntentState.SETTLED, final=True)
        sent = len(floor.tools.received("/read"))
        pauses.go_on.set()
        eventually(lambda: not fenced._running)
    finally:
        pauses.go_on.set()
        fenced.stop(grace=0)
    assert sent == len(floor.tools.received("/read")) == 2
    assert intent.attempts == 2
    assert turn.intent.result_content == {"n": 2}


def test_a_lease_that_is_over_by_the_workers_own_clock_is_not_sent_under(floor: Floor) -> None:
    ahead = 0.0
    pauses = Pauses()
    pauses.hold()
    turn = floor.turn("gone", key="a")
    dispatcher = floor.dispatcher(
        with_settings(sweep_interval=600.0),
        sleep=pauses,
        ledger=_unrenewing(floor),
        monotonic=lambda: time.monotonic() + ahead,
    )
    dispatcher.start()
    try:
        assert pauses.began.wait(20)
        ahead = 3600.0
        pauses.go_on.set()
        intent = turn.until(IntentState.SETTLED)
    finally:
        pauses.go_on.set()
        dispatcher.stop(grace=0)
    assert intent.result_content == {"because": "lease_lost"}
    [settled] = turn.of(EventType.DISPATCH_SETTLED)
    assert (settled["unsent"], settled["tries"]) == (True, 1)


def test_a_dispatcher_that_stood_still_right_before_sending_sent_under_a_lease_that_was_over(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulation, seed 23787: a person had found out meanwhile that nothing had happened."""
    ahead = 0.0

    def stands_still(point: FailPoint) -> None:
        nonlocal ahead
        ahead = 3600.0 if point is FailPoint.SENDING else ahead

    monkeypatch.setattr(call, "reached", stands_still)
    turn = floor.turn("write", key="a")
    with floor.dispatching(
        with_settings(sweep_interval=600.0),
        ledger=_unrenewing(floor),
        monotonic=lambda: time.monotonic() + ahead,
    ):
        intent = turn.until(IntentState.SETTLED)
    assert intent.result_content == {"because": "lease_lost"}
    [settled] = turn.of(EventType.DISPATCH_SETTLED)
    assert settled["unsent"] is True
    assert floor.tools.received("/write") == []


def test_an_outcome_after_the_sweep_is_late_and_settles_the_doubt(floor: Floor) -> None:
    held = floor.tools.hold("/write", ok({"n": 4}))
    turn = floor.turn("write", key="a")
    shorter = with_settings(lease_floor=0.3, lease_margin=-9.7, sweep_interval=600.0)
    slow = floor.dispatcher(shorter, ledger=_unrenewing(floor))
    slow.start()
    try:
        floor.tools.await_received("/write")
        with floor.dispatching():
            assert turn.until(IntentState.IN_DOUBT).reason == "lease_expired"
        held.release()
        intent = turn.until(IntentState.SETTLED, final=True)
    finally:
        slow.stop(grace=0)
    assert intent.result_content == {"n": 4}
    assert turn.types.count("dispatch.late") == 1
    assert len(floor.tools.received("/write")) == 1


def _unrenewing(floor: Floor) -> Ledger:
    return Unrenewing(floor.engine, clock=floor.clock)
