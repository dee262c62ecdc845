"""The states of streams as one process knows them: remembered, or read and folded."""

from collections.abc import Sequence

import structlog
from sqlalchemy import Connection, Engine

from ledger.cache import StateCache
from ledger.fold import fold_recorded, initial
from ledger.read import read_events, read_whole
from ledger.server import server_of
from ledger.session import single
from ledger.sharding import StreamName
from ledger.state import StreamState

_log = structlog.get_logger(__name__)


class States:
    """What was folded last, and how to learn what came since. Safe for many threads.

    What was read of another server or database is not remembered: its events may have other contents under the same seq.
    """

    def __init__(self, engine: Engine, *, remembered: int) -> None:
        """``engine``: from ``ledger.connect``. ``remembered``: states to keep in memory."""
        self._engine = engine
        self._cache = StateCache(remembered)
        self._server = server_of(engine)
        self._server.on_change(self.forget)

    @property
    def changes(self) -> int:
        """How often another server or database has answered."""
        return self._server.changes

    def known(self, stream: StreamName) -> StreamState | None:
        """The state that is remembered; None: none is."""
        return self._cache.get(stream)

    def known_or_new(self, stream: StreamName) -> StreamState:
        """The state that is remembered; a stream of which there is none is taken for a new one."""
        return self._cache.get(stream) or initial(stream.tenant, stream.commit_key)

    def read(self, stream: StreamName) -> StreamState:
        """The state now. Raises UnreadableStream, LedgerUnavailable."""
        met = self._server.changes
        known = self._cache.get(stream)
        with single(self._engine) as connection:
            if met != self._server.changes:
                known, met = None, self._server.changes
            state = known or initial(stream.tenant, stream.commit_key)
            fresh = read_events(connection, stream, after=state.seq)
        if fresh:
            state = fold_recorded(state, fresh)
            self.remember(stream, state, met)
        return state

    def seen_by(self, connection: Connection, stream: StreamName) -> tuple[StreamState, int]:
        """The state that ``connection`` shows, and under how many changes of the server."""
        met = self._server.changes
        state = self.known_or_new(stream)
        return fold_recorded(state, read_events(connection, stream, after=state.seq)), met

    def warm(self, streams: Sequence[StreamName]) -> None:
        """Remember all of these, read in one statement where they are not remembered yet. Raises LedgerUnavailable.

        A stream that cannot be folded is passed over: that is for whoever decides about it to say.
        """
        # One stream may hold several calls that wait; read twice, its events would not follow each other.
        unknown = [stream for stream in dict.fromkeys(streams) if self._cache.get(stream) is None]
        if not unknown:
            return
        with single(self._engine) as connection:
            met = self._server.changes
            found = read_whole(connection, unknown)
        for stream, events in found.items():
            try:
                state = fold_recorded(initial(stream.tenant, stream.commit_key), events)
            except Exception as error:  # noqa: BLE001 - one broken stream must not keep the others waiting
                _log.error("stream_unreadable", commit_key=stream.commit_key, error=repr(error))
                continue
            self.remember(stream, state, met)

    def remember(self, stream: StreamName, state: StreamState, met: int) -> None:
        """Keep ``state``, read or written under ``met`` changes of the server."""
        self._cache.put(stream, state)
        if met != self._server.changes:
            self._cache.drop(stream)

    def drop(self, stream: StreamName) -> None:
        """Forget the stream."""
        self._cache.drop(stream)

    def forget(self) -> None:
        """Forget all of them: the database is not the one that they were read from."""
        self._cache.clear()
