"""Appending to a stream: read its state, decide, write everything in one transaction or nothing.

Any process may append to any stream. The events' primary key is the check: whoever comes second reads again
and decides again, so a decision is always taken on the state that it is written behind (design.md, "The
ledger"). Decisions are taken in the threads of their callers; what they write goes out in groups (ledger.group).
"""

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection, Engine

from ledger.change import (
    Appended,
    BatchReplay,
    Change,
    CloseLicence,
    Licence,
    SeizeLicence,
    StoredBatch,
)
from ledger.draft import Draft, draft
from ledger.errors import AppendContention, LedgerUnavailable
from ledger.events import Event
from ledger.faults import Conflict, RowHeld
from ledger.group.row import await_row
from ledger.group.side import extend_lease
from ledger.group.transaction import GroupTransaction
from ledger.group.writer import GroupWriter
from ledger.inside import Inside
from ledger.observing import NOBODY, Observer
from ledger.payload import fresh_salt
from ledger.read import read_batch, read_events
from ledger.session import single
from ledger.sharding import StreamName
from ledger.state import StreamState
from ledger.states import States
from ledger.turns import Turns

__all__ = [
    "Appended",
    "BatchReplay",
    "Change",
    "CloseLicence",
    "Ledger",
    "Licence",
    "SeizeLicence",
    "StoredBatch",
]

TRIES = 50
"""How often a change is decided before AppendContention."""

AGAIN_THREADS = 4
"""Threads in which submitted changes are decided again."""

T = TypeVar("T")
_LONGEST_PAUSE = 0.05
_TURN = 0.05
_LAST_GROUPS = 15.0
"""Seconds for which ``close`` waits for what is under way: longer than a statement waits for a lock."""


class Ledger:
    """Streams of events and what follows from them. Safe for many threads.

    ``engine``: from ``ledger.connect``. ``clock``: aware datetimes for people to read. ``salt``: 16 fresh
    random bytes a call. ``sleep`` and ``jitter`` (0 to 1) space out the tries of contending writers.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        clock: Callable[[], datetime],
        salt: Callable[[], bytes] = fresh_salt,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
        cached_streams: int = 1024,
        notify: bool = False,
        places: int = 1,
        observer: Observer = NOBODY,
    ) -> None:
        """See the class; ``cached_streams``: folded states to keep in memory.

        ``notify``: releases are announced on the channel ``commitgate``. ``places``: group commits that may be
        under way at the same time. ``observer``: told of what is written.
        """
        self._observer = observer
        self._engine = engine
        self._clock = clock
        self._salt = salt
        self._sleep = sleep
        self._jitter = jitter
        self._states = States(engine, remembered=cached_streams)
        transaction = GroupTransaction(engine, sleep, notify=notify)
        self._inside = Inside(engine, transaction, self._states.seen_by, self._draw)
        self._writer = GroupWriter(transaction, places=places, observer=observer)
        self._turns = Turns()
        self._again = ThreadPoolExecutor(AGAIN_THREADS, "commitgate-again")

    def read(self, tenant: str, commit_key: str) -> StreamState:
        """The state of a stream now; seq 0 where it does not exist. Raises UnreadableStream, LedgerUnavailable."""
        return self._states.read(StreamName.of(tenant, commit_key))

    def warm(self, streams: Sequence[StreamName]) -> None:
        """Remember the states of all of these streams, read in one statement where they are not remembered yet.

        Whoever decides about them next need not read them one by one. A stream that cannot be folded is passed over:
        that is for whoever decides about it to say. Raises LedgerUnavailable.
        """
        self._states.warm(streams)

    def events(self, tenant: str, commit_key: str, after: int, limit: int) -> list[Event]:
        """Up to ``limit`` events with a seq above ``after``, in order, also those of a stream that cannot be folded.

        Raises LedgerUnavailable.
        """
        stream = StreamName.of(tenant, commit_key)
        with single(self._engine) as connection:
            return read_events(connection, stream, after=after, limit=limit, lenient=True)

    def batch(self, tenant: str, commit_key: str, batch_id: str) -> StoredBatch | None:
        """A batch that was answered before. Raises LedgerUnavailable."""
        with single(self._engine) as connection:
            return read_batch(connection, StreamName.of(tenant, commit_key), batch_id)

    def renew(
        self, tenant: str, commit_key: str, intent_id: str, attempt: int, epoch: int, lease_seconds: float
    ) -> bool:
        """Let a lease end in ``lease_seconds``; False if it is closed or seized. Raises LedgerUnavailable."""
        stream = StreamName.of(tenant, commit_key)
        with single(self._engine) as connection:
            return extend_lease(connection, stream, intent_id, attempt, epoch, lease_seconds)

    def close(self) -> None:
        """End its own threads, once what was submitted is decided and written; what hangs is left after a while."""
        # In this order: what a group could not write is decided again, and written by whoever comes first.
        self._writer.drain(_LAST_GROUPS)
        self._again.shutdown()
        self._writer.drain(_LAST_GROUPS)

    @property
    def databases(self) -> int:
        """How often another server or database has answered: what was read under another number is not remembered."""
        return self._states.changes

    def forget(self) -> None:
        """Drop every remembered state: the database is not the one that they were read from."""
        self._states.forget()

    def append(self, tenant: str, commit_key: str, decide: Callable[[StreamState], Change]) -> Appended:
        """Write what ``decide`` makes of the stream's state; all of it or nothing.

        ``decide`` is asked again whenever another writer was faster, so it must follow from the state alone;
        what it raises goes to the caller and nothing is written. Returns when the change is durable, or at
        once when it is empty. Raises LicenceRefused and LeaseLost where the database refuses a side row,
        BatchIdTaken, UnwritableValue, AppendContention, LedgerUnavailable (nothing written), OutcomeUnknown
        (nobody knows).
        """
        stream = StreamName.of(tenant, commit_key)
        with self._turns.turn(stream, within=_TURN):
            met = self._states.changes
            state = self._states.known(stream) or self._states.read(stream)
            for tries in range(TRIES):
                done = self._try(stream, state, decide, met)
                if done is not None:
                    return done
                self._sleep(self._jitter() * min(0.001 * 2**tries, _LONGEST_PAUSE))
                before, met = met, self._states.changes
                newer = self._states.read(stream)
                if newer.seq == state.seq and before == met:
                    # Nobody was faster, so what is remembered here is not what the database holds.
                    self._states.drop(stream)
                    newer = self._states.read(stream)
                state = newer
        raise AppendContention(f"{TRIES} tries to append to {commit_key!r}, and others were faster each time")

    def append_with(
        self,
        tenant: str,
        commit_key: str,
        work: Callable[[Connection], T],
        decide: Callable[[StreamState, T], Change],
    ) -> Appended:
        """As ``append``, and the transaction does ``work`` first; ``decide`` is given what came of it (``ledger.inside``).

        An empty change rolls the work back. Both may be asked again. Raises what ``append`` and ``work`` raise; behind
        OutcomeUnknown the same may be asked again: it sees what became of it.
        """
        stream = StreamName.of(tenant, commit_key)
        ready, state = self._inside.append(stream, work, decide)
        if ready is None:
            return Appended(state, ())
        self._states.remember(stream, ready.after, ready.met)
        return self._done(ready)

    def _draw(self, stream: StreamName, state: StreamState, change: Change, met: int) -> Draft:
        return draft(stream, state, change, at=self._clock(), salt=self._salt, met=met)

    def submit(
        self, tenant: str, commit_key: str, decide: Callable[[StreamState], Change]
    ) -> Future[Appended]:
        """As ``append``, without waiting: the future holds what ``append`` returns or raises.

        ``decide`` is asked now, in this thread, and again in one of the ledger's own where another writer was faster or
        the stream has to be read; so it must not block and must be safe there. One change of a stream at a time.
        """
        future: Future[Appended] = Future()
        future.set_running_or_notify_cancel()

        def told(outcome: Appended | BaseException) -> None:
            if isinstance(outcome, Appended):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

        self.append_then(tenant, commit_key, decide, told)
        return future

    def append_then(
        self,
        tenant: str,
        commit_key: str,
        decide: Callable[[StreamState], Change],
        told: Callable[[Appended | BaseException], object],
    ) -> None:
        """As ``submit``, and ``told`` is called once with what ``append`` returns or raises.

        That happens in this thread or in one of the ledger's own, so ``told`` must neither block nor raise.
        """
        stream = StreamName.of(tenant, commit_key)

        def again() -> None:
            try:
                self._again.submit(_tell, told, self.append, tenant, commit_key, decide)
            except RuntimeError as error:
                # Nothing is written yet, and whoever waits to be told must not wait for ever.
                closed = LedgerUnavailable("the ledger was closed before the change was decided")
                closed.__cause__ = error
                told(closed)

        ready = self._ready(stream, decide)
        if ready is None:
            again()
            return

        def ended(verdict: BaseException | None) -> None:
            if verdict is None:
                self._states.remember(stream, ready.after, ready.met)
                told(self._done(ready))
            elif isinstance(verdict, Conflict):
                again()
            else:
                told(verdict)

        self._writer.enqueue(ready, ended)

    def _ready(self, stream: StreamName, decide: Callable[[StreamState], Change]) -> Draft | None:
        """The draft of what is decided on the remembered state; None where it takes a look at the database.

        A stream that is not remembered is taken for a new one: if it is not, that is a conflict like any other.
        """
        met = self._states.changes
        state = self._states.known_or_new(stream)
        try:
            change = decide(state)
            if not change.events and not change.side:
                return None
            return self._draw(stream, state, change, met)
        except Exception:  # noqa: BLE001 - append finds out whether the state was the newest, and raises it
            return None

    def _try(
        self, stream: StreamName, state: StreamState, decide: Callable[[StreamState], Change], met: int
    ) -> Appended | None:
        """Decide on ``state`` and write; None where the stream is further than that, or another server answers.

        Writing shows whether the state was the newest. Where nothing is to be written it has to be read.
        """
        try:
            change = decide(state)
        except Exception:
            if not self._is_newest(stream, state, met):
                return None
            raise
        if not change.events and not change.side:
            return Appended(state, ()) if self._is_newest(stream, state, met) else None
        ready = self._draw(stream, state, change, met)
        try:
            self._writer.write(ready)
        except RowHeld:
            self._await_row(stream)
            return None
        except Conflict:
            return None
        self._states.remember(stream, ready.after, met)
        return self._done(ready)

    def _done(self, ready: Draft) -> Appended:
        appended = Appended(ready.after, ready.events)
        self._observer.appended(appended)
        return appended

    def _await_row(self, stream: StreamName) -> None:
        """Wait until nobody holds the stream's row: here, so that no group of others has to.

        Raises LedgerUnavailable where that takes longer than the connection waits for a lock.
        """
        with single(self._engine) as connection:
            await_row(connection, stream)

    def _is_newest(self, stream: StreamName, state: StreamState, met: int) -> bool:
        return self._states.read(stream).seq == state.seq and met == self._states.changes


def _tell(
    told: Callable[[Appended | BaseException], object],
    append: Callable[[str, str, Callable[[StreamState], Change]], Appended],
    tenant: str,
    commit_key: str,
    decide: Callable[[StreamState], Change],
) -> None:
    outcome: Appended | BaseException
    try:
        outcome = append(tenant, commit_key, decide)
    except BaseException as error:  # noqa: BLE001 - whoever waits is told
        outcome = error
    told(outcome)
