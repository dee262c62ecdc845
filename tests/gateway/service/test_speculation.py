"""A tool whose early reads are mostly wasted stops, in every process, says so, and is tried again after a rest."""

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from effects.intent import IntentState
from gateway.principal import everyone
from gateway.service.brakes import KnownBrakes
from gateway.service.braking import Braking
from gateway.service.speculation import Speculation
from gateway.service.streams import Streams
from gateway.service.tables import EffectTables
from gateway.turn.scanner import BlockScanner
from ledger.braking.stops import Stops
from tests.gateway.dispatcher.floor import TENANT, Floor, floor_over
from tests.postgres import TestDatabase


@pytest.fixture
def floor(database: TestDatabase) -> Iterator[Floor]:
    with floor_over(database.service_url) as floor:
        watched(floor)
        yield floor


def watched(floor: Floor) -> None:
    """Let the floor's streams be those of a gateway."""
    known = KnownBrakes(floor.engine, floor.clock)
    floor.tables = EffectTables(floor.ledger, floor.clock, known.of)
    watch = Speculation(Stops(floor.engine), floor.clock, known.stops, known.forget).watch
    floor.streams = Streams(floor.ledger, floor.tables, BlockScanner(), floor.clock, watch=watch)


def early(floor: Floor, number: int, *, wasted: bool) -> None:
    """Reads that are sent early, answered, and then decided."""
    turns = [floor.draft("read", n=n) for n in range(number)]
    with floor.dispatching():
        for turn in turns:
            turn.until(IntentState.SETTLED)
            turn.reject() if wasted else turn.accept()


def goes_early(floor: Floor) -> bool:
    return floor.draft("read", other=1).intent.state is IntentState.RELEASED


def test_it_stops_and_is_tried_again(floor: Floor) -> None:
    with capture_logs() as logs:
        early(floor, 9, wasted=True)
        assert goes_early(floor)
        early(floor, 1, wasted=True)
    assert [log["tool"] for log in logs if log["event"] == "speculation_stopped"] == ["read"]
    assert not goes_early(floor)
    braking = Braking(floor.engine, floor.tables, KnownBrakes(floor.engine, floor.clock))
    [stopped] = braking.status(everyone(TENANT))["speculation_stopped"]  # type: ignore[misc]
    assert (stopped["tool"], stopped["wasted"], stopped["of"]) == ("read", 10, 10)
    # A gateway that has just started knows.
    watched(floor)
    assert not goes_early(floor)
    floor.clock.skip(301)
    assert goes_early(floor), "one is tried"
    assert not goes_early(floor), "and not a second one"
    floor.clock.skip(301)
    early(floor, 1, wasted=False)
    assert [goes_early(floor) for _ in range(3)] == [True] * 3


def test_the_control_what_is_mostly_worth_it_goes_on(floor: Floor) -> None:
    early(floor, 6, wasted=True)
    early(floor, 6, wasted=False)
    assert goes_early(floor)
