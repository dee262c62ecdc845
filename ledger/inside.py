"""An append whose transaction does somebody else's work too: both are durable, or nothing of either.

So a tool that lives in the ledger's own database happens exactly once: its rows and the event that says what came of them
are one commit. The work runs first and under no lock of the ledger. Then the stream's row is locked, the newest state is
read, and the decision is taken on it: nobody can be faster any more, and where it comes to nothing the work was never done.
It goes by no group, as it may take as long as the work does.
"""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine

from ledger.change import Change
from ledger.draft import Draft
from ledger.errors import AppendContention, LedgerUnavailable
from ledger.faults import Conflict, ConnectionLost
from ledger.group.row import await_row
from ledger.group.transaction import GroupTransaction
from ledger.session import transaction
from ledger.sharding import StreamName
from ledger.state import StreamState

T = TypeVar("T")

TRIES = 5
"""How often the work is done before AppendContention: only another server, or a lock, can be in the way."""

Newest = Callable[[Connection, StreamName], tuple[StreamState, int]]
"""The state that a connection shows, and under how many changes of the server (``AnsweringServer.changes``)."""

Draw = Callable[[StreamName, StreamState, Change, int], Draft]
"""Makes a change of that state ready to be written."""


class Inside:
    """Appends from inside of transactions."""

    def __init__(self, engine: Engine, writer: GroupTransaction, newest: Newest, draw: Draw) -> None:
        """See the class."""
        self._engine = engine
        self._writer = writer
        self._newest = newest
        self._draw = draw

    def append(
        self,
        stream: StreamName,
        work: Callable[[Connection], T],
        decide: Callable[[StreamState, T], Change],
    ) -> tuple[Draft | None, StreamState]:
        """What was written (None: the decision came to nothing) and the state behind it; see ``Ledger.append_with``."""
        for _ in range(TRIES):
            try:
                return self._once(stream, work, decide)
            except Conflict:
                continue
            except ConnectionLost as error:
                raise LedgerUnavailable(str(error)) from error
        raise AppendContention(f"{TRIES} tries to append to {stream.commit_key!r} from inside failed")

    def _once(
        self,
        stream: StreamName,
        work: Callable[[Connection], T],
        decide: Callable[[StreamState, T], Change],
    ) -> tuple[Draft | None, StreamState]:
        with transaction(self._engine) as connection:
            # For settings that a pooler wants inside of each transaction.
            connection.begin()
            found = work(connection)
            await_row(connection, stream)
            state, met = self._newest(connection, stream)
            change = decide(state, found)
            if not change.events and not change.side:
                return None, state
            ready = self._draw(stream, state, change, met)
            self._writer.finish(connection, ready)
            return ready, ready.after
