"""Each duty can do all of its work: the real parts, each under a login that holds nothing else."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import Engine
from sqlalchemy.exc import ProgrammingError

from effects.intent import IntentState, ResultStatus
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.worker import Dispatcher
from gateway.principal import everyone
from gateway.service.doubts import Doubts
from gateway.service.scanning import find_blocks
from gateway.service.tables import EffectTables
from gateway.upstream.http import HttpUpstream
from ledger import rebuild as rebuilding
from ledger.access.duty import Duty
from ledger.access.login import check_login
from ledger.append import BatchReplay, Change, Ledger
from ledger.errors import MissingPrivileges
from ledger.evidence.note import SigningKey
from ledger.listing import list_intents, list_streams
from ledger.log.checkpoints import Notary
from ledger.log.sealer import Sealer
from ledger.reconcile.run import Options, run
from ledger.work import Work
from tests.gateway.dispatcher.floor import FAST, TENANT, Clock, Floor, with_settings
from tests.gateway.toolserver import ToolServer, eventually, reset
from tests.ledger.roles.logins import logins
from tests.ledger.story import opened
from tests.postgres import TestDatabase

WORKING = (Duty.WRITER, Duty.DISPATCHER, Duty.SEALER, Duty.RECONCILER)


@pytest.fixture(scope="module")
def engines(module_database: TestDatabase) -> Iterator[dict[Duty, Engine]]:
    """A pool for each duty."""
    with logins(module_database) as people, ExitStack() as stack:
        yield {duty: stack.enter_context(people[duty].engine()) for duty in (*WORKING, Duty.REDACTOR)}


@dataclass(frozen=True)
class House:
    """A gateway without a dispatcher under the writer's login, and dispatchers under theirs."""

    floor: Floor
    engines: dict[Duty, Engine]

    @contextmanager
    def dispatching(self, settings: DispatcherSettings = FAST) -> Iterator[None]:
        engine, clock = self.engines[Duty.DISPATCHER], self.floor.clock
        ledger = Ledger(engine, clock=clock)
        tables = EffectTables(ledger, clock)
        running = Dispatcher(ledger, Work(engine), tables, HttpUpstream(), settings, clock)
        running.start()
        try:
            yield
        finally:
            running.stop(grace=0)


@pytest.fixture(scope="module")
def house(engines) -> Iterator[House]:
    with ToolServer() as tools:
        yield House(Floor(engines[Duty.WRITER], tools, Clock()), engines)


@pytest.mark.parametrize("duty", [*WORKING, Duty.REDACTOR])
def test_its_login_is_good_for_it_and_for_nothing_else(engines, duty):
    assert check_login(engines[duty], (duty,)) == {duty}
    for other in WORKING:
        if other is not duty and duty is not Duty.REDACTOR:
            with pytest.raises(MissingPrivileges, match=other.role):
                check_login(engines[duty], (duty, other))


@pytest.mark.parametrize("tool", ["read", "put", "write"])
def test_a_turn_from_its_drafts_to_its_answer(house, tool):
    with house.dispatching():
        turn = house.floor.turn(tool)
        turn.until(IntentState.SETTLED, final=True)
    [licence] = house.floor.licences(turn)
    assert licence["open"] is False
    assert list_intents(house.floor.engine, TENANT, limit=10)
    assert list_streams(house.floor.engine, TENANT, limit=10)


def test_leases_are_renewed_and_run_out(house):
    held = house.floor.tools.hold("/slow")
    house.floor.put_in_force(
        slow='{effect: WRITE, writes: ["{key}"], timeout: 10s, upstream: {http: "URL/slow"}}'
    )
    turn = house.floor.turn("slow")
    with house.dispatching(with_settings(lease_floor=3.0, lease_margin=-9.0)):
        house.floor.tools.await_received("/slow")
        longer = house.floor.licences(turn)[0]["lease_until"] + timedelta(seconds=1)
        eventually(lambda: house.floor.licences(turn)[0]["lease_until"] > longer)
    held.release()
    with house.dispatching():
        assert turn.until(IntentState.IN_DOUBT).reason == "lease_expired"


def test_what_was_certainly_unsent_is_sent_again(house):
    turn = house.floor.turn("gone")
    with house.dispatching():
        intent = turn.until(IntentState.SETTLED)
    assert intent.result_status is ResultStatus.UNAVAILABLE
    assert all(licence["unsent"] and licence["once_key"] is None for licence in house.floor.licences(turn))


def test_a_doubt_is_resolved_by_who_may_not_dispatch(house):
    house.floor.tools.behave("/set", reset)
    turn = house.floor.turn("set")
    with house.dispatching():
        turn.until(IntentState.IN_DOUBT)
    floor = house.floor
    doubts = Doubts(floor.engine, floor.ledger, floor.tables, floor.clock)
    assert turn.key in [view["commit_key"] for view in doubts.list(everyone(TENANT))]
    doubts.resolve(everyone(TENANT), turn.key, turn.intent.intent_id, happened=False, reason="asked the shop")
    assert turn.intent.state is IntentState.SETTLED


def test_silent_streams_are_ended(house):
    turn = house.floor.draft("write")
    house.floor.clock.skip(3600)
    with house.dispatching(with_settings(idle_timeout=0.001)):
        turn.until(IntentState.VOIDED)


def test_a_batch_is_answered_again(house):
    writer = house.floor.ledger
    answer = BatchReplay(batch_id="b", body_digest=b"digest", response="{}")
    writer.append(TENANT, "batched", lambda _: Change((opened(),), (answer,)))
    stored = writer.batch(TENANT, "batched", "b")
    assert stored is not None
    assert stored.response == "{}"


@pytest.fixture(scope="module")
def told(house) -> House:
    """A few turns: settled, in doubt, undecided."""
    house.floor.tools.behave("/set", reset)
    with house.dispatching():
        turns = [house.floor.turn("write") for _ in range(3)]
        doubtful = house.floor.turn("set")
        house.floor.draft("write")
        for turn in turns:
            turn.until(IntentState.SETTLED, final=True)
        doubtful.until(IntentState.IN_DOUBT)
    return house


def test_a_sealer_seals_and_signs(told, tmp_path):
    engine = told.engines[Duty.SEALER]
    sealer = Sealer(engine)
    while (done := sealer.round()).more:
        pass
    assert done.size > 0
    signed = Notary(engine, SigningKey.generate("test"), tmp_path).publish()
    assert signed.size == done.size
    told.floor.draft("write")
    assert sealer.round().events > 0


def test_a_reconciler_reconciles_and_compares(told):
    engine = told.engines[Duty.RECONCILER]
    options = Options(grace=timedelta(0))
    found = run(engine, TENANT, options, now=datetime.now(UTC), find_blocks=find_blocks)
    assert [finding.kind for finding in found.findings]
    assert list(rebuilding.check(engine)) == []


def test_a_writer_rebuilds(told):
    assert rebuilding.rebuild(told.engines[Duty.WRITER]) > 0
    assert list(rebuilding.check(told.engines[Duty.RECONCILER])) == []


@pytest.mark.parametrize(
    ("duty", "work"),
    [
        (Duty.RECONCILER, rebuilding.rebuild),
        (Duty.DISPATCHER, rebuilding.rebuild),
        (Duty.SEALER, rebuilding.rebuild),
        (Duty.WRITER, lambda engine: Sealer(engine).round()),
        (Duty.DISPATCHER, lambda engine: Sealer(engine).round()),
        (Duty.RECONCILER, lambda engine: Sealer(engine).round()),
        (Duty.SEALER, lambda engine: Ledger(engine, clock=Clock()).append(TENANT, "x", lambda _: Change((opened(),)))),
        (Duty.RECONCILER, lambda engine: Ledger(engine, clock=Clock()).append(TENANT, "x", lambda _: Change((opened(),)))),
        (Duty.REDACTOR, lambda engine: list(rebuilding.check(engine))),
    ],
)  # fmt: skip
def test_another_duty_cannot_do_it(told, duty: Duty, work: Callable[[Engine], object]):
    """The negative control: the same parts under another login are refused by the database."""
    with pytest.raises((ProgrammingError, InsufficientPrivilege), match="permission denied"):
        work(told.engines[duty])


def test_a_dispatcher_under_the_writers_login_sends_nothing(house):
    before = len(house.floor.tools.received("/write"))
    turn = house.floor.turn("write")
    writers = House(house.floor, {**house.engines, Duty.DISPATCHER: house.engines[Duty.WRITER]})
    # It comes to an answer through a dispatcher that may send, beside one that may not.
    with writers.dispatching(), house.dispatching():
        turn.until(IntentState.SETTLED, final=True)
    assert len(house.floor.tools.received("/write")) == before + 1
