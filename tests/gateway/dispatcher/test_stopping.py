"""A dispatcher that stops: what it certainly did not send is given back, so that it is in nobody's doubt."""

import asyncio
import time

import pytest

from effects.classes import EffectClass
from effects.intent import IntentState
from effects.upstream import Upstream as Where
from gateway.dispatcher.claim import ClaimedCall
from gateway.dispatcher.inside import InsideCall
from gateway.dispatcher.leases import Lease
from gateway.principal import everyone
from gateway.service.brakes import KnownBrakes
from gateway.service.braking import Braking
from gateway.turn.dispatching import Assignment
from gateway.upstream.port import NotSent, Reply
from ledger.events import EventType
from ledger.sharding import StreamName
from tests.gateway.dispatcher.floor import FAST, TENANT, Floor, Turn, with_settings
from tests.gateway.toolserver import eventually

OPERATOR = everyone(TENANT)


class Refused:
    """Nobody listens where the tool is. ``tries``: how often it was tried."""

    tries = 0

    async def send(self, _call: Assignment, *, timeout: float | None) -> Reply:
        self.tries += 1
        return NotSent("connect_failed")

    async def aclose(self) -> None:
        return None


@pytest.fixture
def braking(floor: Floor) -> Braking:
    return Braking(floor.engine, floor.tables, KnownBrakes(floor.engine, floor.clock))


def stopped_under_a_pause(floor: Floor, braking: Braking, turn: Turn, tool: str) -> None:
    """Its call was claimed and not sent; then the tool is paused, and the dispatcher stops."""
    refused = Refused()
    dispatcher = floor.dispatcher(with_settings(backoff=0.3, grace=60.0), upstream=refused)
    dispatcher.start()
    try:
        eventually(lambda: refused.tries)
        braking.pause(OPERATOR, tool)
        before = time.monotonic()
    finally:
        dispatcher.stop()
    assert time.monotonic() - before < 10, "nobody waits for the end of a pause"


@pytest.mark.parametrize("tool", ["write", "set", "read"])
def test_a_call_that_waited_under_a_pause_when_its_dispatcher_stopped_was_left_in_doubt(
    floor: Floor, braking: Braking, tool: str
) -> None:
    turn = floor.turn(tool)
    stopped_under_a_pause(floor, braking, turn, tool)
    assert turn.intent.state is IntentState.RELEASED
    [settled] = turn.of(EventType.DISPATCH_SETTLED)
    assert (settled["unsent"], settled["content"]) == (True, {"because": "given_back"})
    braking.resume(OPERATOR, tool)
    with floor.dispatching():
        assert turn.until(IntentState.SETTLED, final=True).attempts == 2
    assert len(floor.tools.received(f"/{tool}")) == 1
    first, second = floor.licences(turn)
    assert (first["open"], first["unsent"], first["once_key"]) == (False, True, None)
    assert (second["open"], second["unsent"]) == (False, False)


def test_a_call_given_back_after_its_stream_failed_is_voided(floor: Floor, braking: Braking) -> None:
    turn = floor.turn("write")
    refused = Refused()
    dispatcher = floor.dispatcher(with_settings(backoff=30.0), upstream=refused)
    dispatcher.start()
    try:
        eventually(lambda: refused.tries)
        turn.write(EventType.STREAM_FINISHED, reason="error")
    finally:
        dispatcher.stop(grace=0)
    assert turn.intent.state is IntentState.VOIDED
    assert floor.tools.received("/write") == []


def test_a_call_between_two_tries_when_the_grace_was_over_was_left_in_doubt(floor: Floor) -> None:
    turn = floor.turn("write")
    refused = Refused()
    dispatcher = floor.dispatcher(with_settings(backoff=30.0), upstream=refused)
    dispatcher.start()
    try:
        eventually(lambda: refused.tries)
    finally:
        dispatcher.stop(grace=0)
    assert turn.intent.state is IntentState.RELEASED
    with floor.dispatching():
        turn.until(IntentState.SETTLED, final=True)
    assert len(floor.tools.received("/write")) == 1


def test_a_call_that_is_under_way_is_not_given_back(floor: Floor) -> None:
    held = floor.tools.hold("/write")
    turn = floor.turn("write")
    with floor.dispatching():
        floor.tools.await_received("/write")
    assert turn.intent.state is IntentState.DISPATCHED
    assert turn.of(EventType.DISPATCH_SETTLED) == []
    held.release()


def test_what_happens_in_the_ledgers_own_database_is_given_back_too() -> None:
    told: list[str] = []

    class Outcomes:
        async def give_back(self, lease: Lease) -> None:
            told.append(lease.intent_id)

    async def paused(_tenant: str, _tool: str) -> bool:
        return False

    where = Where(http="http://x")
    assignment = Assignment("t", "k", "i", 1, 1, "put", "{}", EffectClass.WRITE, "key", where, 30.0, None)
    lease = Lease(StreamName.of("t", "k"), "i", 1, 1, 1e6, 0.0)
    call = InsideCall(
        ClaimedCall(assignment, lease, None),
        None,  # type: ignore[arg-type]
        Outcomes(),  # type: ignore[arg-type]
        FAST,
        monotonic=lambda: 0.0,
        sleep=asyncio.sleep,
        passed=paused,
        allowed=True,
    )
    asyncio.run(call.run())
    assert told == ["i"]
