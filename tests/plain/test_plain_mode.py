"""The plain mode really refuses, and what matters most works in it; all the rest does with COMMITGATE_TEST_PLAIN=1."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError

from effects.intent import IntentState
from gateway.running import dispatcher_over
from gateway.settings import Settings
from ledger.append import Change, Ledger
from ledger.connect import connect
from ledger.events import EventType, NewEvent
from ledger.migrate import status, upgrade
from ledger.state import StreamState
from tests import plain, statements
from tests.gateway.dispatcher.floor import Clock, Floor
from tests.gateway.toolserver import ToolServer, eventually
from tests.ledger import story
from tests.plain import hook
from tests.plain.forbidden import forbidden
from tests.plain.server import take_away
from tests.postgres import DatabaseServer, TestDatabase, libpq

ROOT = Path(__file__).parents[2]
REFUSED = [
    "listen commitgate",
    "UNLISTEN *",
    "notify commitgate",
    "select 1; notify commitgate, 'x'",
    "select pg_notify('commitgate', '')",
    "select pg_catalog.pg_advisory_xact_lock(1)",
    "select pg_try_advisory_lock_shared(1)",
    "select seq from ledger.streams where shard = 1 for update\n  skip  locked",
    "-- one row\nselect seq from ledger.streams where shard = 1 for no key update /* now */ skip locked limit 1",
]


@pytest.fixture(autouse=True)
def refusing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COMMITGATE_WAKE", "poll")
    with statements.looked_at_by(hook.refuse):
        yield


@pytest.fixture
def plain_database(database: TestDatabase) -> TestDatabase:
    take_away(libpq(database.admin_url))
    return database


@pytest.fixture
def engine(plain_database: TestDatabase) -> Iterator[Engine]:
    engine = connect(plain_database.service_url)
    yield engine
    engine.dispose()


@pytest.mark.parametrize("statement", REFUSED)
def test_a_statement_of_the_product_that_is_not_plain_raises(engine: Engine, statement: str) -> None:
    with engine.connect() as connection:
        with pytest.raises(hook.NotPlain):
            connection.execute(text(statement))
        driver = connection.connection.driver_connection
        with pytest.raises(hook.NotPlain):
            driver.execute(statement)
        with pytest.raises(hook.NotPlain):
            driver.cursor().executemany(psycopg.sql.SQL(statement), [()])


@pytest.mark.parametrize(
    "statement",
    [
        "select 'listen' as word",
        "select seq from ledger.streams where shard = 1 for update",
        "copy ledger.events (shard) from stdin",
        "select 1 -- pg_notify, skip locked and pg_advisory_lock are not for us",
    ],
)
def test_plain_statements_are_let_through(statement: str) -> None:
    assert forbidden(statement) is None


@pytest.mark.parametrize("call", ["notify(''commitgate'', '''')", "advisory_xact_lock(1)"])
def test_the_server_refuses_what_no_driver_sees(engine: Engine, call: str) -> None:
    block = f"do $$ begin execute 'select pg' || '_{call}'; end $$"
    assert forbidden(block) is None
    with engine.connect() as connection, pytest.raises(ProgrammingError, match="permission denied"):
        connection.exec_driver_sql(block)


def test_connections_of_tests_may_do_what_they_like(plain_database: TestDatabase) -> None:
    with psycopg.connect(libpq(plain_database.admin_url)) as connection:
        connection.execute("select pg_advisory_xact_lock(1)")
        connection.execute("listen commitgate")


def test_a_process_that_a_plain_run_starts_refuses_too(plain_database: TestDatabase) -> None:
    program = (
        "from ledger.connect import connect\nfrom sqlalchemy import text\n"
        f"with connect({plain_database.service_url!r}).connect() as c: c.execute(text('listen commitgate'))"
    )
    command = [sys.executable, "-c", program]
    environ = {**os.environ, **plain.environ()}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "NotPlain" in done.stderr


def test_no_function_and_no_view_of_the_schema_needs_more(plain_database: TestDatabase) -> None:
    bodies = """
        select p.oid::regprocedure::text, p.prosrc from pg_proc p
        where p.pronamespace in (select oid from pg_namespace where nspname in ('ledger', 'audit'))
        union all
        select c.oid::regclass::text, pg_get_viewdef(c.oid) from pg_class c
        where c.relkind in ('v', 'm')
            and c.relnamespace in (select oid from pg_namespace where nspname in ('ledger', 'audit'))
    """
    with psycopg.connect(libpq(plain_database.admin_url)) as connection:
        found = connection.execute(bodies).fetchall()
    assert found
    assert [name for name, body in found if forbidden(body)] == []


def test_upgrades_at_the_same_time_take_turns(
    database_server: DatabaseServer, empty_database: TestDatabase
) -> None:
    take_away(libpq(empty_database.admin_url))
    start = Barrier(4)

    def run(_number: int) -> None:
        start.wait()
        upgrade(empty_database.owner_url)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert status(empty_database.owner_url).up_to_date


def test_appends_under_contention_are_all_there_once(engine: Engine) -> None:
    writers, each = 6, 8
    ledgers = [Ledger(engine, clock=Clock()) for _ in range(3)]
    ledgers[0].append("t", "k", story.these(story.opened()))

    def one_more(state: StreamState) -> Change:
        main = state.branches["main"]
        payload = {"round": 0, "tokens": [{"text": f"{main.head} "}]}
        head = main.head + 1
        return Change((NewEvent(EventType.TOKENS_ACCEPTED, payload, branch="main", head_after=head),))

    def write(number: int) -> None:
        for _ in range(each):
            ledgers[number % len(ledgers)].append("t", "k", one_more)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    events = ledgers[0].events("t", "k", after=0, limit=1000)
    assert [event.seq for event in events] == list(range(1, writers * each + 2))
    assert [event.head_after for event in events[1:]] == list(range(1, writers * each + 1))


def test_a_released_call_is_found_by_polling_and_sent_once(engine: Engine) -> None:
    settings = Settings(sweep_seconds=0.1, poll_seconds=0.02)
    assert not settings.notify
    with ToolServer() as tools:
        floor = Floor(engine, tools, Clock())
        running = dispatcher_over(engine, settings)
        running.start()
        try:
            turns = [floor.turn(tool, key=tool) for tool in ("read", "put", "write")]
            for turn in turns:
                turn.until(IntentState.SETTLED, final=True)
        finally:
            running.stop(grace=0)
        assert [len(tools.received(f"/{tool}")) for tool in ("read", "put", "write")] == [1, 1, 1]
    assert eventually(lambda: not running.alive)
