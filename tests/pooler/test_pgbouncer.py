"""Behind a pooler in transaction mode, where each transaction has another session: COMMITGATE_PGBOUNCER=1."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx2
import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from effects.intent import IntentState
from gateway.principal import everyone
from gateway.running import dispatcher_over
from gateway.settings import Settings
from gateway.turn.tokens import TokenEvent
from ledger import rebuild
from ledger.append import Ledger
from ledger.connect import connect
from ledger.errors import LedgerError
from ledger.events import EventType
from tests import processes
from tests.gateway.dispatcher.floor import TENANT, Clock, Floor
from tests.gateway.toolserver import ToolServer, eventually, ok
from tests.ledger import story
from tests.pooler.pgbouncer import pooled, program
from tests.postgres import TestDatabase, libpq

pytestmark = pytest.mark.skipif(program() is None, reason="this machine has no pgbouncer")

THREADS, EACH = 8, 12


@pytest.fixture
def behind(database: TestDatabase) -> Iterator[TestDatabase]:
    with pooled(database) as through:
        yield through


@pytest.fixture
def engine(behind: TestDatabase) -> Iterator[Engine]:
    engine = connect(behind.service_url, pgbouncer=True)
    yield engine
    engine.dispose()


def write_many(engine: Engine) -> list[BaseException | None]:
    """Streams written by threads at once, and read; what became of each."""
    ledger = Ledger(engine, clock=Clock())

    def write(number: int) -> BaseException | None:
        try:
            for turn in range(EACH):
                key = f"k{number}-{turn}"
                ledger.append("t", key, story.these(story.opened(), story.drafted(0, 8)))
                ledger.append("t", key, story.these(story.ruled(0, 8, 8)))
                assert ledger.events("t", key, after=0, limit=10)[-1].seq == 3
        except (LedgerError, SQLAlchemyError, psycopg.Error) as error:
            return error
        return None

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(write, range(THREADS)))


def test_appends_of_many_threads_share_few_sessions(engine: Engine, database: TestDatabase) -> None:
    assert write_many(engine) == [None] * THREADS
    with psycopg.connect(libpq(database.admin_url)) as admin:
        found = admin.execute("select count(*), max(seq) from ledger.streams").fetchone()
    assert found == (THREADS * EACH, 3)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_without_the_setting_prepared_statements_break(behind: TestDatabase) -> None:
    engine = connect(behind.service_url)
    broken = [error for error in write_many(engine) if error is not None]
    engine.dispose()
    assert broken
    kinds = Counter(type(error.__cause__ or error).__name__ for error in broken)
    assert any("prepared statement" in f"{error} {error.__cause__}" for error in broken), kinds


def test_every_transaction_waits_for_the_disk_and_for_locks_no_longer_than_it_may(engine: Engine) -> None:
    asked = "select current_setting('synchronous_commit'), current_setting('lock_timeout')"
    for _ in range(5):
        with engine.begin() as connection:
            assert tuple(connection.execute(text(asked)).one()) == ("on", "10s")
    outside = connect(engine.url.render_as_string(hide_password=False), pgbouncer=True)
    with outside.connect() as connection:
        free = connection.execution_options(isolation_level="AUTOCOMMIT")
        assert free.execute(text("select current_setting('lock_timeout')")).scalar_one() == "0"
    outside.dispose()


def test_calls_are_sent_once_and_batches_replayed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMITGATE_PGBOUNCER", "1")
    settings = Settings(sweep_seconds=0.05)
    assert settings.pgbouncer
    assert not settings.notify
    with ToolServer() as tools:
        floor = Floor(engine, tools, Clock())
        running = dispatcher_over(engine, settings)
        running.start()
        try:
            turns = [floor.turn("write", key=f"w{number}") for number in range(12)]
            for turn in turns:
                turn.until(IntentState.SETTLED, final=True)
        finally:
            running.stop(grace=0)
        assert len(tools.received("/write")) == len(turns)
        draft = floor.draft("read", key="batched")
        body = {"round": 0, "start": 0, "end": 2, "accepted": 2}
        write = partial(
            floor.streams.write,
            everyone(TENANT),
            "batched",
            draft.epoch,
            [TokenEvent(EventType.TOKENS_RULED, body)],
            batch_id="b1",
            raw_body=b"{}",
        )
        assert [write().replayed, write().replayed] == [False, True]
    assert list(rebuild.check(engine)) == []


def test_processes_of_the_product_run_behind_it(behind: TestDatabase, tmp_path: Path) -> None:
    settings = {
        "COMMITGATE_DATABASE_URL": behind.service_url,
        "COMMITGATE_HOME": str(tmp_path),
        "COMMITGATE_PGBOUNCER": "1",
    }
    with (
        ToolServer() as tools,
        processes.gateway(tmp_path, settings, "--no-dispatch") as gateway,
        processes.dispatcher(tmp_path, settings) as worker,
        httpx2.Client(base_url=gateway.ready["listening"], timeout=30) as client,
    ):
        tools.behave("/write", ok())
        effects = {"tools": {"write": {"effect": "WRITE", "upstream": {"http": f"{tools.url}/write"}}}}
        assert client.post("/v1/effects", json=effects).status_code < 300
        opened = client.post(
            "/v1/streams", json={"tool_calls": {"format": "hermes", "from": "detected"}}
        ).json()
        block = '<tool_call>{"name": "write", "arguments": {}}</tool_call>'
        event = {"type": "tokens.accepted", "round": 0, "tokens": [{"text": block}]}
        path = f"/v1/streams/{opened['commit_key']}/events"
        body = {"writer_epoch": opened["writer_epoch"], "events": [event]}
        assert client.post(path, json=body).status_code == 201
        eventually(lambda: len(tools.received("/write")) == 1)
        assert worker.end() == 0
        assert gateway.end() == 0
