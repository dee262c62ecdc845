"""Hearing of other processes' releases: at once, again after a lost connection, and without holding back vacuum."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg
import pytest
from sqlalchemy import Engine

from gateway.settings import Settings
from ledger import listen
from ledger.append import Ledger
from ledger.connect import connect
from ledger.events import NewEvent
from ledger.listen import CHANNEL, Listener
from tests import plain
from tests.gateway.toolserver import eventually, free_port
from tests.ledger import story
from tests.postgres import TestDatabase, libpq
from tests.statements import looked_at_by

pytestmark = pytest.mark.skipif(plain.wanted(), reason="plain engines have no LISTEN; there dispatchers poll")

NAME = "commitgate-listener"
PATIENCE = 20.0


class Bell:
    """Counts rings; ``wait`` returns once there are more than ``than``."""

    def __init__(self) -> None:
        self.rings = 0
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.rings += 1
            self._changed.notify_all()

    def wait(self, than: int) -> int:
        with self._changed:
            assert self._changed.wait_for(lambda: self.rings > than, PATIENCE), self.rings
            return self.rings


@pytest.fixture
def admin(module_database: TestDatabase) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as connection:
        yield connection


@contextmanager
def listening(engine: Engine, heard: Callable[[], None]) -> Iterator[Listener]:
    with Listener(engine, heard) as listener:
        eventually(lambda: listener.listening)
        yield listener


def backends(admin: psycopg.Connection) -> list[tuple[object, ...]]:
    query = (
        "select pid, state, backend_xmin, backend_xid from pg_stat_activity"
        " where application_name = %s and datname = current_database()"
    )
    return admin.execute(query, [NAME]).fetchall()


def notify(admin: psycopg.Connection) -> None:
    admin.execute("select pg_notify(%s, '')", [CHANNEL])


def test_it_rings_when_it_begins_and_for_every_notification(
    engine: Engine, admin: psycopg.Connection
) -> None:
    bell = Bell()
    with listening(engine, bell):
        rings = bell.wait(0)
        for _ in range(3):
            notify(admin)
            rings = bell.wait(rings)
    assert backends(admin) == [] or eventually(lambda: backends(admin) == [])


def test_another_channel_is_not_heard(engine: Engine, admin: psycopg.Connection) -> None:
    bell = Bell()
    with listening(engine, bell):
        rings = bell.wait(0)
        admin.execute("select pg_notify('somebody_else', '')")
        notify(admin)
        assert bell.wait(rings) == rings + 1


def test_a_lost_connection_is_opened_again_and_rings_for_what_was_missed(
    engine: Engine, admin: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "_FIRST_PAUSE", 0.01)
    bell = Bell()
    with listening(engine, bell):
        rings = bell.wait(0)
        for _ in range(3):
            [(pid, *_)] = eventually(lambda: backends(admin))
            admin.execute("select pg_terminate_backend(%s, 5000)", [pid])
            rings = bell.wait(rings)  # the ring with which it begins again
            notify(admin)
            rings = bell.wait(rings)


def test_it_ends_at_once_also_while_the_database_is_away() -> None:
    bell = Bell()
    listener = Listener(connect(f"postgresql://nobody@127.0.0.1:{free_port()}/nowhere"), bell)
    listener.start()
    listener.stop()
    assert not listener.listening
    assert bell.rings == 0


def test_a_listener_that_reads_no_more_holds_no_snapshot(engine: Engine, admin: psycopg.Connection) -> None:
    held, go_on = threading.Event(), threading.Event()
    first = threading.Event()

    def stuck() -> None:
        if first.is_set():
            held.set()
            go_on.wait(PATIENCE)
        first.set()

    with listening(engine, stuck):
        assert first.wait(PATIENCE)
        notify(admin)
        assert held.wait(PATIENCE)  # from here on nobody reads what the server sends
        for _ in range(300):
            notify(admin)
        [(_, state, xmin, xid)] = eventually(lambda: [b for b in backends(admin) if b[1] == "idle"])
        assert (state, xmin, xid) == ("idle", None, None)
        go_on.set()


def test_a_session_that_keeps_its_snapshot_would_be_seen(
    module_database: TestDatabase, admin: psycopg.Connection
) -> None:
    with psycopg.connect(libpq(module_database.service_url), application_name=NAME) as connection:
        connection.execute(f"listen {CHANNEL}")
        connection.commit()
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("select count(*) from ledger.events")
        [(_, state, xmin, _)] = backends(admin)
        assert state == "idle in transaction"
        assert xmin is not None


def test_a_group_commit_notifies_once_where_it_let_something_go_and_else_not(
    engine: Engine, tenant: str
) -> None:
    sent: list[str] = []
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC), notify=True)
    written = [story.opened(), story.drafted(0, 8), story.ruled(0, 8, 8)]

    def append(key: str, *events: NewEvent) -> None:
        ledger.append(tenant, key, story.these(*events))

    def count(word: str) -> int:
        return sum(word in statement for statement in sent)

    with looked_at_by(sent.append), ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: append(f"quiet-{n}", *written), range(32)))
        assert count("pg_notify") == 0
        assert 0 < count("copy ledger.events") <= 32
        sent.clear()
        list(pool.map(lambda n: append(f"loud-{n}", *written, story.held(), story.released()), range(32)))
    assert 0 < count("pg_notify") == count("copy ledger.events") <= 32


@pytest.mark.parametrize(
    ("environ", "notify", "poll"),
    [
        ({}, True, None),
        ({"COMMITGATE_WAKE": "poll"}, False, 0.05),
        ({"COMMITGATE_PGBOUNCER": "1"}, False, 0.05),
        ({"COMMITGATE_WAKE": "poll", "COMMITGATE_POLL_SECONDS": "0.5"}, False, 0.5),
    ],
)
def test_when_it_is_used(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], notify: bool, poll: float | None
) -> None:
    for name in ("COMMITGATE_WAKE", "COMMITGATE_PGBOUNCER", "COMMITGATE_POLL_SECONDS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.notify is notify
    assert poll in (None, settings.poll_interval)
