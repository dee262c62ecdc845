"""The database goes away and comes back: outcomes wait for it, and calls that break do not stop the others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql
from structlog.testing import capture_logs

from effects.intent import IntentState, ResultStatus
from gateway.dispatcher.cooling import Cooling
from ledger.append import Appended, Change, Ledger
from ledger.errors import LedgerError, OutcomeUnknown
from ledger.events import EventType, NewEvent
from ledger.sharding import StreamName
from ledger.state import StreamState
from ledger.work import ReleasedCall
from tests.gateway.dispatcher.floor import TENANT, Floor, with_settings
from tests.gateway.toolserver import eventually, ok
from tests.ledger import story
from tests.postgres import DatabaseServer, TestDatabase


@contextmanager
def away(server: DatabaseServer, database: TestDatabase) -> Iterator[None]:
    """Nobody is connected to the database in the block, and nobody can connect."""

    def allow(connection: psycopg.Connection, answer: str) -> None:
        statement = sql.SQL("alter database {} with allow_connections " + answer)
        connection.execute(statement.format(sql.Identifier(database.name)))

    with server.admin() as admin:
        allow(admin, "false")
        try:
            admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (database.name,)
            )
            yield
        finally:
            allow(admin, "true")


@pytest.mark.parametrize("tool", ["read", "write"])
def test_an_outcome_is_recorded_once_the_database_is_back(
    floor: Floor, database_server: DatabaseServer, database: TestDatabase, tool: str
) -> None:
    held = floor.tools.hold(f"/{tool}", ok({"n": 1}))
    turn = floor.turn(tool, key="a")
    with floor.dispatching(with_settings(lease_floor=30.0)):
        floor.tools.await_received(f"/{tool}")
        with capture_logs() as logs, away(database_server, database):
            held.release()
            eventually(lambda: any(log["event"] == "outcome_not_recorded_yet" for log in logs))
        intent = turn.until(IntentState.SETTLED, final=True)
        floor.turn("read", key="later").until(IntentState.SETTLED)
    assert intent.result_content == {"n": 1}
    assert turn.types.count("dispatch.settled") == 1
    assert turn.types.count("dispatch.late") == 0
    assert len(floor.tools.received("/write")) == (tool == "write")


class Unsure(Ledger):
    """Loses the answer of the first COMMIT that records an outcome; ``before``: of a COMMIT that did not take place."""

    def __init__(self, floor: Floor, *, before: bool) -> None:
        super().__init__(floor.engine, clock=floor.clock)
        self.before = before
        self.lost = 0

    def append_then(
        self,
        tenant: str,
        commit_key: str,
        decide: Callable[[StreamState], Change],
        told: Callable[[Appended | BaseException], object],
    ) -> None:
        try:
            outcome: Appended | LedgerError = self.append(tenant, commit_key, decide)
        except LedgerError as error:
            outcome = error
        told(outcome)

    def append(self, tenant: str, commit_key: str, decide: Callable[[StreamState], Change]) -> Appended:
        before = self.read(tenant, commit_key).seq
        records_outcome = any(
            event.type is EventType.DISPATCH_SETTLED for event in decide(self.read(tenant, commit_key)).events
        )
        if records_outcome and not self.lost and self.before:
            self.lost += 1
            raise OutcomeUnknown("gone")
        appended = super().append(tenant, commit_key, decide)
        if records_outcome and not self.lost and appended.state.seq > before:
            self.lost += 1
            raise OutcomeUnknown("gone")
        return appended


@pytest.mark.parametrize("before", [True, False])
def test_an_outcome_of_unknown_fate_is_recorded_once(floor: Floor, before: bool) -> None:
    turn = floor.turn("write", key="a")
    ledger = Unsure(floor, before=before)
    with floor.dispatching(ledger=ledger) as dispatcher:
        turn.until(IntentState.SETTLED, final=True)
        eventually(lambda: not dispatcher._running)
    assert ledger.lost == 1
    assert turn.types.count("dispatch.settled") == 1
    assert turn.types.count("dispatch.late") == 0


def test_a_dispatch_that_the_database_refuses_is_reported_and_not_tried_hot(floor: Floor) -> None:
    # Forged: the block is cleared by an event, but no ruling has accepted its tokens.
    cleared = {"span": [2, 6], "round": 0, "intents": [story.INTENT], "because": "forged"}
    forged = (
        story.opened(),
        story.drafted(0, 8),
        held_write(),
        NewEvent(EventType.BLOCK_CLEARED, cleared, branch="main"),
        story.released(),
    )
    floor.ledger.append(TENANT, "forged", story.these(*forged))
    with capture_logs() as logs, floor.dispatching():
        eventually(lambda: any(log["event"] == "speculative_effect_violation" for log in logs))
        floor.turn("write", key="a").until(IntentState.SETTLED)
    refused = [log for log in logs if log["event"] == "speculative_effect_violation"]
    assert {log["log_level"] for log in refused} == {"error"}
    assert {log["constraint"] for log in refused} == {"licence_block_accepted"}
    assert len(refused) <= 4
    assert [r.headers["commit-key"] for r in floor.tools.received("/write")] != ["forged"]
    assert len(floor.tools.received("/write")) == 1


def held_write() -> NewEvent:
    held = story.held()
    return NewEvent(held.type, {**held.payload, "tool": "write"}, branch="main", intent_id=held.intent_id)


def test_silent_streams_end_as_error(floor: Floor) -> None:
    undecided = floor.draft("write", key="a")
    with floor.dispatching(with_settings(idle_timeout=0.3)):
        eventually(lambda: floor.ledger.read(TENANT, undecided.key).finished == "error")
    assert undecided.intent.state is IntentState.VOIDED


def test_streams_that_speak_do_not_end(floor: Floor) -> None:
    with floor.dispatching(with_settings(idle_timeout=60.0)):
        turn = floor.turn("write", key="a")
        intent = turn.until(IntentState.SETTLED)
    assert intent.result_status is ResultStatus.OK
    assert floor.ledger.read(TENANT, turn.key).finished is None


def test_cooling_doubles_and_forgets() -> None:
    now = 0.0
    cooling = Cooling(lambda: now, first=1.0, longest=3.0)
    call = ReleasedCall(StreamName.of("t", "k"), "i")
    assert not cooling.holds(call)
    for pause in (1.0, 2.0, 3.0, 3.0):
        cooling.leave(call)
        assert len(cooling) == 1
        now += pause - 0.01
        assert cooling.holds(call)
        now += 0.02
        assert not cooling.holds(call)
    now += 10.0
    assert len(cooling) == 0
    cooling.leave(call)
    now += 1.01
    assert not cooling.holds(call)
