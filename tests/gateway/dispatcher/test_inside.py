"""Tools that are statements in the ledger's own database: their rows and the outcome are one commit, or neither is."""

import base64
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from effects.intent import IntentState, ResultStatus
from gateway.principal import everyone
from gateway.upstream.local import LocalUpstreams
from gateway.upstream.postgres.adapter import PostgresUpstream
from ledger.append import Ledger
from ledger.errors import OutcomeUnknown
from ledger.events import EventType
from ledger.rows import Found
from ledger.sharding import StreamName
from ledger.statements import read_statements
from tests.gateway.dispatcher.floor import FAST, TENANT, Floor, Turn, with_settings
from tests.gateway.dispatcher.test_ledger_away import away
from tests.gateway.toolserver import eventually
from tests.postgres import DatabaseServer, TestDatabase, libpq

TABLE = """
policy: {reads_behind_writes: send}
tools:
  write:
    effect: WRITE
    writes: ["{item}"]
    timeout: TIMEOUT
    upstream:
      postgres:
        statement: |
          insert into shop.acts (intent_id, key, note) values (%(commitgate/intent_id)s, %(item)s, %(note)s)
          returning key, note, 12345678901234567890 as big, 1.50 as price, '{"a": [1]}'::jsonb as body, now() > 'epoch' as ok
  both:
    effect: IDEMPOTENT
    writes: ["{item}"]
    timeout: TIMEOUT
    upstream:
      postgres:
        statements:
          - insert into shop.acts (intent_id, key) values (%(commitgate/idempotency_key)s, %(item)s)
          - update shop.acts set note = 'both' where key = %(item)s
  slow:
    effect: WRITE
    writes: ["{item}"]
    timeout: TIMEOUT
    upstream:
      postgres:
        statements:
          - insert into shop.acts (intent_id, key) values (%(commitgate/intent_id)s, %(item)s)
          - select pg_sleep(%(seconds)s)
  twice:
    effect: WRITE
    writes: ["{item}"]
    upstream:
      postgres:
        statements:
          - insert into shop.acts (key) values (%(item)s)
          - insert into shop.acts (key) values ('taken')
  many:
    effect: WRITE
    writes: ["{item}"]
    timeout: TIMEOUT
    max_result: 1000
    upstream:
      postgres:
        statement: >
          with told as (insert into shop.acts (key) values (%(item)s) returning key)
          select key, repeat('x', 100) as long from told, generate_series(1, %(rows)s)
  endless:
    effect: WRITE
    writes: ["{item}"]
    upstream: {postgres: {statement: "select '1 january 9999'::date + n from generate_series(0, 10000) n"}}
  deadly:
    effect: WRITE
    writes: ["{item}"]
    upstream:
      postgres:
        statements:
          - insert into shop.acts (key) values (%(item)s)
          - select pg_terminate_backend(pg_backend_pid())
  late:
    effect: WRITE
    writes: ["{item}"]
    upstream: {postgres: {statement: "insert into shop.refs (key) values (%(item)s)"}}
  under:
    effect: WRITE
    writes: ["{item}"]
    upstream:
      postgres:
        statement: insert into shop.acts (key, note) values (%(item)s, current_user) returning note
        role: ROLE
  prying:
    effect: WRITE
    writes: ["{item}"]
    upstream: {postgres: {statement: "delete from ledger.events where commit_key = %(item)s", role: ROLE}}
  nobody:
    effect: WRITE
    writes: ["{item}"]
    upstream: {postgres: {statement: "select 1", role: no_such_role}}
  several:
    effect: WRITE
    writes: ["{item}"]
    upstream: {postgres: {statement: "select 1; commit; select %(item)s"}}
  plain:
    effect: WRITE
    writes: []
    upstream: {postgres: {statement: "select 1; commit"}}
  read:
    effect: READ_ONLY
    reads: []
    upstream: {postgres: {statement: "select key, note from shop.acts where key = %(item)s order by id"}}
  sly:
    effect: READ_ONLY
    reads: []
    upstream: {postgres: {statement: "insert into shop.acts (key) values (%(item)s)"}}
"""
SCHEMA = """
create schema shop;
create table shop.acts (id bigint generated always as identity, intent_id text unique, key text, note text);
create unique index on shop.acts (key) where key = 'taken';
create table shop.named (name text primary key);
create table shop.refs (key text references shop.named (name) deferrable initially deferred);
"""


class Shop:
    """The tool's tables, as their owner sees them."""

    def __init__(self, admin: psycopg.Connection[Any], role: str) -> None:
        self._admin = admin
        self.role = role

    def acts(self) -> list[tuple[str, str | None]]:
        return list(self._admin.execute("select key, note from shop.acts order by id").fetchall())

    def run(self, statement: str) -> None:
        self._admin.execute(statement)


@pytest.fixture
def shop(database: TestDatabase, floor: Floor) -> Iterator[Shop]:
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as admin:
        with floor.engine.connect() as connection:
            login = connection.execute(text("select current_user")).scalar_one()
        role = f"shop_{admin.execute('select oid from pg_database where datname = current_database()').fetchone()[0]}"  # type: ignore[index]
        admin.execute(SCHEMA)
        admin.execute(f"create role {role}")
        admin.execute(f"grant usage on schema shop to {login}, {role}")
        admin.execute(f"grant all on all tables in schema shop to {login}, {role}")
        admin.execute(f"grant {role} to {login}")
        try:
            yield Shop(admin, role)
        finally:
            # Another one: a test may have ended the first.
            with psycopg.connect(libpq(database.admin_url), autocommit=True) as last:
                last.execute(f"drop owned by {role}")
                last.execute(f"drop role {role}")


def put_in_force(floor: Floor, shop: Shop, timeout: str = "10s") -> None:
    floor.tables.apply(everyone(TENANT), TABLE.replace("TIMEOUT", timeout).replace("ROLE", shop.role))


@pytest.fixture(autouse=True)
def in_force(floor: Floor, shop: Shop) -> None:
    put_in_force(floor, shop)


def settled(floor: Floor, tool: str, **arguments: object) -> Turn:
    turn = floor.turn(tool, **arguments)
    with floor.dispatching(upstream=PostgresUpstream(floor.engine)):
        turn.until(IntentState.SETTLED, final=True)
    return turn


def test_rows_are_the_answer_and_the_licence_is_closed(floor: Floor, shop: Shop) -> None:
    turn = settled(floor, "write", item="a", note="o'clock; drop table shop.acts")
    assert turn.intent.result_status is ResultStatus.OK
    [row] = turn.intent.result_content["rows"]  # type: ignore[index]
    assert row == {
        "key": "a",
        "note": "o'clock; drop table shop.acts",
        "big": "12345678901234567890",
        "price": "1.50",
        "body": {"a": [1]},
        "ok": True,
    }
    assert shop.acts() == [("a", "o'clock; drop table shop.acts")]
    [licence] = floor.licences(turn)
    assert (licence["open"], licence["unsent"]) == (False, False)
    assert [event["inside"] for event in turn.of(EventType.DISPATCH_STARTED)] == [True]


def test_several_statements_are_one(floor: Floor, shop: Shop) -> None:
    turn = settled(floor, "both", item="a")
    assert turn.intent.result_content == {"rows": [], "count": 1}
    assert shop.acts() == [("a", "both")]


def test_what_the_database_refuses_is_a_tool_error_and_nothing_of_it_is_left(
    floor: Floor, shop: Shop
) -> None:
    shop.run("insert into shop.acts (key) values ('taken')")
    turn = settled(floor, "twice", item="a")
    assert turn.intent.result_status is ResultStatus.TOOL_ERROR
    assert turn.intent.result_content["sqlstate"] == "23505"  # type: ignore[index]
    assert shop.acts() == [("taken", None)]


def test_a_constraint_that_waits_for_the_commit_is_asked_before(floor: Floor, shop: Shop) -> None:
    turn = settled(floor, "late", item="nobody")
    assert turn.intent.result_status is ResultStatus.TOOL_ERROR
    assert turn.intent.result_content["sqlstate"] == "23503"  # type: ignore[index]


@pytest.mark.parametrize("tool", ["several", "plain"])
def test_one_statement_is_one_statement(floor: Floor, shop: Shop, tool: str) -> None:
    turn = settled(floor, tool, item="a")
    assert turn.intent.result_status is ResultStatus.TOOL_ERROR
    assert turn.intent.result_content["sqlstate"] == "42601"  # type: ignore[index]


def test_a_missing_argument_is_told_and_nothing_runs(floor: Floor, shop: Shop) -> None:
    turn = settled(floor, "write", item="a")
    assert turn.intent.result_status is ResultStatus.TOOL_ERROR
    assert turn.intent.result_content == {"because": "argument_missing", "argument": "note"}
    assert shop.acts() == []


def test_statements_run_under_their_role_and_the_ledger_is_not_theirs(floor: Floor, shop: Shop) -> None:
    assert settled(floor, "under", item="a").intent.result_content["rows"] == [{"note": shop.role}]  # type: ignore[index]
    turn = settled(floor, "prying", item="x")
    assert turn.intent.result_status is ResultStatus.TOOL_ERROR
    assert turn.intent.result_content["sqlstate"] == "42501"  # type: ignore[index]
    with floor.engine.connect() as connection:
        assert connection.execute(text("select current_user = session_user")).scalar_one()


def test_a_role_that_is_not_there_means_that_nothing_was_sent(floor: Floor, shop: Shop) -> None:
    turn = settled(floor, "nobody", item="a")
    assert turn.intent.result_status is ResultStatus.UNAVAILABLE
    assert turn.intent.result_content["because"] == "role_refused"  # type: ignore[index]
    assert [event["unsent"] for event in turn.of(EventType.DISPATCH_SETTLED)] == [True]


def test_what_takes_too_long_did_not_happen_and_is_no_doubt(floor: Floor, shop: Shop) -> None:
    put_in_force(floor, shop, "200ms")
    turn = settled(floor, "slow", item="a", seconds=5)
    assert turn.intent.result_status is ResultStatus.UNAVAILABLE
    assert turn.intent.result_content["because"] == "timeout"  # type: ignore[index]
    assert shop.acts() == []


def test_reads_run_by_themselves_and_change_nothing(floor: Floor, shop: Shop) -> None:
    shop.run("insert into shop.acts (key, note) values ('a', 'x')")
    turn = settled(floor, "read", item="a")
    assert turn.intent.result_content == {"rows": [{"key": "a", "note": "x"}], "count": 1}
    sly = settled(floor, "sly", item="a")
    assert sly.intent.result_status is ResultStatus.TOOL_ERROR
    assert len(shop.acts()) == 1


def test_a_tenant_whose_tables_may_run_nothing_here_runs_nothing(floor: Floor, shop: Shop) -> None:
    turn = floor.turn("write", item="a", note="n")
    with floor.dispatching(local=LocalUpstreams(setting=False)):
        turn.until(IntentState.SETTLED, final=True)
    assert turn.intent.result_content["because"] == "local_upstreams_off"  # type: ignore[index]
    assert shop.acts() == []


def test_a_lease_that_was_seized_meanwhile_leaves_nothing_and_the_call_is_sent_again(
    floor: Floor, shop: Shop
) -> None:
    """The first transaction is held at a lock; its dispatcher no longer renews. Another one seizes and runs it."""
    shop.run("insert into shop.named values ('gate')")
    turn = floor.turn("write", item="a", note="n")
    entered, go_on = threading.Event(), threading.Event()
    stalled = StalledLedger(floor, entered, go_on)
    first = floor.dispatcher(with_settings(lease_floor=0.3, lease_margin=-9.8), ledger=stalled)
    first._leases.keep = lambda _lease: None  # type: ignore[method-assign]
    first._sweep.once = nothing  # type: ignore[method-assign, assignment]
    first.start()
    try:
        assert entered.wait(20)
        with floor.dispatching(upstream=PostgresUpstream(floor.engine)):
            turn.until(IntentState.SETTLED, final=True)
        go_on.set()
        eventually(lambda: stalled.left)
    finally:
        go_on.set()
        first.stop(grace=5)
    assert shop.acts() == [("a", "n")]
    told = turn.of(EventType.DISPATCH_SETTLED)
    assert [(event["attempt"], event["unsent"]) for event in told] == [(1, True), (2, False)]
    assert [(row["unsent"], row["once_key"] is None) for row in floor.licences(turn)] == [
        (True, True),
        (False, False),
    ]
    assert "dispatch.late" not in turn.types
    assert "dispatch.in_doubt" not in turn.types


def test_an_answer_that_is_too_large_is_cut_and_what_was_done_stays_done(floor: Floor, shop: Shop) -> None:
    turn = settled(floor, "many", item="a", rows=100_000)
    assert turn.intent.result_status is ResultStatus.OK
    content = turn.intent.result_content
    assert isinstance(content, dict)
    assert (content["because"], content["limit_bytes"]) == ("result_too_large", 1000)
    assert base64.b64decode(content["raw_base64"]).startswith(
        b'{"count":100000,"rows":[{"key":"a","long":"xxx'
    )
    assert shop.acts() == [("a", None)]


def test_rows_are_not_held_beyond_what_is_kept_of_them(floor: Floor) -> None:
    statement = ["select n, repeat('x', 100) as long from generate_series(1, 50000) n"]
    found = read_statements(floor.engine, statement, {}, role=None, seconds=20, most=1000)
    assert isinstance(found, Found)
    assert (len(found.rows), found.count, found.cut) == (9, 50_000, True)
    whole = read_statements(floor.engine, statement, {}, role=None, seconds=20, most=10_000_000)
    assert isinstance(whole, Found)
    assert (len(whole.rows), whole.count, whole.cut) == (50_000, 50_000, False)


def test_reading_rows_takes_no_longer_than_the_tool_may(floor: Floor, shop: Shop) -> None:
    put_in_force(floor, shop, "300ms")
    turn = floor.turn("many", item="a", rows=1_000_000_000)
    begun = time.monotonic()
    with floor.dispatching(upstream=PostgresUpstream(floor.engine)):
        turn.until(IntentState.SETTLED, final=True)
    assert time.monotonic() - begun < 5
    assert turn.intent.result_status is ResultStatus.UNAVAILABLE
    assert turn.intent.result_content["because"] == "timeout"  # type: ignore[index]
    assert shop.acts() == []


def test_a_value_that_the_driver_cannot_hold_is_a_tool_error_and_costs_no_connection(floor: Floor) -> None:
    turn = settled(floor, "endless", item="a")
    assert turn.intent.result_status is ResultStatus.TOOL_ERROR
    assert turn.intent.attempts == 1


class StalledLedger(Ledger):
    """Stands still between the statements and the outcome."""

    def __init__(self, floor: Floor, entered: threading.Event, go_on: threading.Event) -> None:
        super().__init__(floor.engine, clock=floor.clock)
        self.left = False
        self._entered = entered
        self._go_on = go_on

    def append_with(self, tenant: str, commit_key: str, work: Any, decide: Any) -> Any:
        def stalling(connection: Any) -> Any:
            found = work(connection)
            # Its rows stand in the way of nobody.
            connection.rollback()
            connection.begin()
            self._entered.set()
            self._go_on.wait(30)
            return found if self.left else work(connection)

        try:
            return super().append_with(tenant, commit_key, stalling, decide)
        finally:
            self.left = True


async def nothing() -> int:
    return 0


def test_a_commit_whose_answer_is_lost_is_found_again_and_nothing_runs_twice(
    floor: Floor, shop: Shop
) -> None:
    turn = floor.turn("write", item="a", note="n")
    ledger = Forgetful(floor.engine, clock=floor.clock)
    with floor.dispatching(ledger=ledger):
        turn.until(IntentState.SETTLED, final=True)
        eventually(lambda: ledger.asked == 2)
    assert shop.acts() == [("a", "n")]
    assert turn.types.count("dispatch.settled") == 1
    assert turn.types.count("dispatch.started") == 1


class Forgetful(Ledger):
    """Does not know what became of its first COMMIT."""

    asked = 0

    def append_with(self, *told: Any) -> Any:
        done = super().append_with(*told)
        self.asked += 1
        if self.asked == 1:
            raise OutcomeUnknown("lost")
        return done


def test_writers_of_the_same_stream_are_not_in_the_way(floor: Floor, shop: Shop) -> None:
    """Tokens go on while the statements run; the outcome is decided on the newest state."""
    turn = floor.turn("slow", item="a", seconds=1)
    with floor.dispatching(upstream=PostgresUpstream(floor.engine)):
        turn.until(IntentState.DISPATCHED)
        for number in range(20):
            turn.write(EventType.TOKENS_ACCEPTED, round=0, tokens=[{"text": f" {number}"}])
        turn.until(IntentState.SETTLED, final=True)
    assert shop.acts() == [("a", None)]
    assert turn.types.count("dispatch.started") == 1


def test_a_lost_dispatch_is_tried_a_few_times_and_then_unavailable(floor: Floor, shop: Shop) -> None:
    turn = floor.turn("write", item="a", note="n")
    name = StreamName.of(TENANT, turn.key)
    with floor.dispatching(FAST, ledger=Broken(floor.engine, clock=floor.clock)):
        turn.until(IntentState.SETTLED, final=True)
    assert turn.intent.result_status is ResultStatus.UNAVAILABLE
    assert turn.intent.attempts == turn.intent.unsent_attempts == 5
    assert shop.acts() == []
    assert name.commit_key == turn.key
    assert all(row["unsent"] for row in floor.licences(turn))


@pytest.mark.parametrize("behind", [False, True])
def test_statements_that_end_their_own_connection_are_run_five_times_and_not_for_ever(
    floor: Floor, shop: Shop, behind: bool
) -> None:
    turn = floor.turn("write", item="a", note="n") if behind else floor.turn("deadly", item="a")
    ledger = (Cut if behind else Ledger)(floor.engine, clock=floor.clock)
    with capture_logs() as logs, floor.dispatching(ledger=ledger):
        turn.until(IntentState.SETTLED, final=True)
    assert [log["event"] for log in logs].count("not_run_yet") == 5
    assert turn.intent.result_status is ResultStatus.UNAVAILABLE
    assert turn.intent.result_content == {"because": "connection_lost_inside"}
    assert turn.intent.attempts == turn.intent.unsent_attempts == 5
    assert shop.acts() == []
    assert all(row["unsent"] for row in floor.licences(turn))


class Cut(Ledger):
    """Its connection ends each time when the statements are through."""

    def append_with(self, tenant: str, commit_key: str, work: Any, decide: Any) -> Any:
        def cut(connection: Any) -> Any:
            found = work(connection)
            connection.execute(text("select pg_terminate_backend(pg_backend_pid())"))
            return found

        return super().append_with(tenant, commit_key, cut, decide)


def test_a_database_that_is_away_for_everybody_costs_a_call_one_of_its_dispatches_and_no_more(
    floor: Floor, shop: Shop, database_server: DatabaseServer, database: TestDatabase
) -> None:
    turn = floor.turn("slow", item="a", seconds=0.5)
    settings = with_settings(lease_floor=30.0)
    with floor.dispatching(settings, upstream=PostgresUpstream(floor.engine)):
        turn.until(IntentState.DISPATCHED)
        eventually(lambda: sleeps(database_server, database))
        with capture_logs() as logs, away(database_server, database):
            eventually(lambda: [log["event"] for log in logs].count("outcome_not_recorded_yet") >= 3)
        turn.until(IntentState.SETTLED, final=True)
    assert turn.intent.result_status is ResultStatus.OK
    assert (turn.intent.attempts, turn.intent.unsent_attempts) == (2, 1)


def sleeps(server: DatabaseServer, database: TestDatabase) -> bool:
    """Whether a statement of the tool runs now."""
    with server.admin() as admin:
        asked = "select 1 from pg_stat_activity where datname = %s and query like '%%pg_sleep%%' and state = 'active'"
        return admin.execute(asked, (database.name,)).fetchone() is not None


class Broken(Ledger):
    """Cannot append from inside."""

    def append_with(self, *_told: Any) -> Any:
        from sqlalchemy.exc import SQLAlchemyError

        raise SQLAlchemyError("broken")
