"""Dispatchers obey a pause at once, leave what it holds back where it is, and go on when it is lifted."""

import time

import pytest

from effects.intent import IntentState
from gateway.principal import everyone
from gateway.service.brakes import KnownBrakes
from gateway.service.braking import Braking
from gateway.service.views import reasons_under
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from tests.gateway.dispatcher.floor import TENANT, Floor, with_settings
from tests.gateway.toolserver import eventually, ok


@pytest.fixture
def braking(floor: Floor) -> Braking:
    return Braking(floor.engine, floor.tables, KnownBrakes(floor.engine, floor.clock))


def test_a_paused_tool_waits_and_goes_when_it_is_resumed(floor: Floor, braking: Braking) -> None:
    operator = everyone(TENANT)
    assert braking.pause(operator, "write", reason="fire")["in_force"] is True
    held = [floor.turn("write", key=f"paused-{n}", n=n) for n in range(40)]
    with floor.dispatching():
        # More wait than a dispatcher runs at once, and still the others are sent.
        floor.turn("put", key="other").until(IntentState.SETTLED)
        assert floor.tools.received("/write") == []
        assert {turn.intent.state for turn in held} == {IntentState.RELEASED}
        assert all(turn.of(EventType.DISPATCH_STARTED) == [] for turn in held)
        assert braking.resume(operator, "write")["was_paused"] is True
        for turn in held:
            turn.until(IntentState.SETTLED)
    assert len(floor.tools.received("/write")) == 40


def test_nothing_is_begun_once_the_pause_has_returned(floor: Floor, braking: Braking) -> None:
    floor.tools.behave("/write", lambda exchange: (time.sleep(0.05), ok()(exchange))[0])
    turns = [floor.turn("write", key=f"many-{n}", n=n) for n in range(60)]
    few = with_settings(concurrency=3)

    def begun() -> int:
        return sum(len(turn.of(EventType.DISPATCH_STARTED)) for turn in turns)

    with floor.dispatching(few), floor.dispatching(few):
        eventually(lambda: begun() > 3)
        assert braking.pause(everyone(TENANT), None)["in_force"] is True
        before = begun()
        floor.turn("read", key="later")
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            assert begun() == before
        assert before < len(turns), "the control: there was something left to begin"
        braking.resume(everyone(TENANT), None)
        for turn in turns:
            turn.until(IntentState.SETTLED)


def test_what_was_claimed_waits_with_its_next_transmission(floor: Floor, braking: Braking) -> None:
    with floor.dispatching(with_settings(backoff=0.2)):
        turn = floor.turn("gone")
        turn.until(IntentState.DISPATCHED)
        braking.pause(everyone(TENANT), "gone")
        # Five tries in about three seconds would settle it as unavailable.
        deadline = time.monotonic() + 4
        while time.monotonic() < deadline:
            assert turn.intent.state is IntentState.DISPATCHED
            time.sleep(0.05)
        braking.resume(everyone(TENANT), "gone")
        assert turn.until(IntentState.SETTLED).result_status == "unavailable"


def test_the_reason_is_shown(floor: Floor, braking: Braking) -> None:
    braking.pause(everyone(TENANT), "write")
    turn = floor.turn("write")
    known = KnownBrakes(floor.engine, floor.clock)
    state = floor.ledger.read(TENANT, turn.key)
    force = floor.tables.current(TENANT).under(known.of(TENANT))
    assert reasons_under(Unfolding(state, floor.clock()), force)(turn.intent) == "paused"
