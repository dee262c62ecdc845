"""Which server and which database answer on the connections of a pool, and how often that has changed.

What a process remembers of the ledger was read from one database. Behind a restore or a failover another one answers,
and may have less than is remembered, or the same seq with other events. A new server is met on a new connection only, so
each is asked once, before its first use; where a pooler hides that, each transaction asks.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event

HIDDEN = "commitgate_pooler"
"""Execution option of an engine whose connections are shared out by a pooler for each transaction."""

_WHO = """
select pg_postmaster_start_time()::text || '/' || oid from pg_catalog.pg_database where datname = current_database()
"""


class AnsweringServer:
    """Counts the servers that a pool meets. Safe for many threads.

    ``changes``: grows before the first statement that another server, or another database, answers. Whoever compares it
    on an open connection with what it was when something was read knows whether that still counts.
    """

    def __init__(self) -> None:
        """Nobody is met yet."""
        self._lock = Lock()
        self._last: str | None = None
        self._changed: list[Callable[[], None]] = []
        self.changes = 0

    def on_change(self, call: Callable[[], None]) -> None:
        """``call`` at every change, from whichever thread meets it."""
        self._changed.append(call)

    def met(self, who: str) -> None:
        """``who`` answers."""
        with self._lock:
            if who == self._last:
                return
            known, self._last = self._last is not None, who
            self.changes += known
        for call in self._changed if known else ():
            call()


_SERVERS: "WeakKeyDictionary[Engine, AnsweringServer]" = WeakKeyDictionary()


def server_of(engine: Engine) -> AnsweringServer:
    """The server behind ``engine``; one for all who ask."""
    known = _SERVERS.get(engine)
    return known if known is not None else _SERVERS.setdefault(engine, _watched(engine))


def _watched(engine: Engine) -> AnsweringServer:
    server = AnsweringServer()

    def connected(connection: Any, _record: object) -> None:
        server.met(connection.execute(_WHO).fetchone()[0])
        connection.commit()

    def began(connection: Connection) -> None:
        server.met(connection.exec_driver_sql(_WHO).scalar_one())

    if engine.get_execution_options().get(HIDDEN):
        event.listen(engine, "begin", began)
    else:
        event.listen(engine, "connect", connected)
    return server
