"""Hearing that another process let something go: LISTEN on a connection of its own, in a thread of its own.

This is speed and nothing else: whoever is woken also polls, and a bell that is missed costs one interval of that.
A listener holds no transaction, so it keeps no snapshot and holds back no vacuum (issue: a LISTEN backend that pins
the xmin horizon). Not for a pooler in transaction mode, which gives every transaction another session.
"""

import select
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import psycopg
import structlog
from psycopg import sql
from sqlalchemy import Engine

CHANNEL = "commitgate"
"""The channel on which a group commit that let something go says so, without a payload."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_ASK = 30.0
"""Seconds of silence after which the server is asked whether it is still there."""

# A client that reads no more (stopped, or its machine gone) is let go by the server instead of being waited for.
_OPTIONS = "-c tcp_user_timeout=30000 -c statement_timeout=10000"

_log = structlog.get_logger(__name__)


class Listener:
    """Calls ``heard`` for notifications on ``CHANNEL``, and whenever it begins to listen (something may have been missed).

    ``engine``: from ``ledger.connect``; its URL is used, none of its connections. ``heard``: called from the listener's
    thread, must be quick and must not raise. Many notifications at once may be one call. A lost connection is opened
    again for as long as it takes. A context manager: it listens within the block.
    """

    def __init__(
        self, engine: Engine, heard: Callable[[], None], *, application_name: str = "commitgate-listener"
    ) -> None:
        """See the class."""
        self._engine = engine
        self._heard = heard
        self._application_name = application_name
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self._rope, self._pull = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name=application_name, daemon=True)

    @property
    def listening(self) -> bool:
        """Whether notifications arrive at present, as far as is known."""
        return self._listening.is_set()

    def start(self) -> None:
        """Begin, without waiting for the connection. Once only."""
        self._thread.start()

    def stop(self) -> None:
        """End at once, and close the connection."""
        self._stopping.set()
        self._pull.send(b"\0")
        if self._thread.is_alive():
            self._thread.join()
        self._rope.close()
        self._pull.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            try:
                with self._connection() as connection:
                    pause = _FIRST_PAUSE
                    self._listen(connection)
            except psycopg.Error as error:
                _log.warning("listener_away", error=str(error))
            finally:
                self._listening.clear()
            self._stopping.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _connection(self) -> "psycopg.Connection[Any]":
        arguments, named = self._engine.dialect.create_connect_args(self._engine.url)
        own = {"connect_timeout": 10, "application_name": self._application_name, "options": _OPTIONS}
        return psycopg.connect(*arguments, **{**named, **own}, autocommit=True)

    def _listen(self, connection: "psycopg.Connection[Any]") -> None:
        connection.execute(sql.SQL("listen {}").format(sql.Identifier(CHANNEL)))
        self._listening.set()
        self._heard()
        while not self._stopping.is_set():
            ready, _, _ = select.select([connection.fileno(), self._rope.fileno()], [], [], _ASK)
            if not ready:
                connection.execute("select 1")
            if list(connection.notifies(timeout=0)):
                self._heard()
