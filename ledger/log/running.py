"""Sealing as a thread of a process: rounds at an interval, a checkpoint now and then."""

import time
from collections.abc import Callable
from threading import Event, Thread

from psycopg import Error as PsycopgError
from sqlalchemy.exc import SQLAlchemyError

from ledger.errors import LedgerError
from ledger.log.checkpoints import Notary
from ledger.log.sealer import Sealed, Sealer

INTERVAL = 0.1
"""Seconds from the beginning of a round to that of the next: about the lag of an event where nothing else is slow."""

CHECKPOINT_EVERY = 5.0
STANDBY = 0.5
"""Seconds between the looks of a process that leaves sealing to another, and after something went wrong."""


class Sealing:
    """Runs ``sealer``, and ``notary`` (None: nothing is signed), until it is stopped.

    ``interval``, ``checkpoint_every``: seconds. ``on_round`` is told what each round did, ``on_error`` what went wrong
    (LedgerError, OSError, the database's own errors); rounds go on after it. Both are called in the thread.
    """

    def __init__(
        self,
        sealer: Sealer,
        notary: Notary | None = None,
        *,
        interval: float = INTERVAL,
        checkpoint_every: float = CHECKPOINT_EVERY,
        on_round: Callable[[Sealed], None] = lambda _sealed: None,
        on_error: Callable[[Exception], None] = lambda _error: None,
    ) -> None:
        """See the class; nothing runs before ``start``."""
        self._sealer = sealer
        self._notary = notary
        self._interval = interval
        self._checkpoint_every = checkpoint_every
        self._on_round = on_round
        self._on_error = on_error
        self._stop = Event()
        self._signed_size = -1
        self._sign_at = 0.0
        self._thread = Thread(target=self._run, name="sealing", daemon=True)
        self.last: Sealed | None = None
        """What the last round did; None before the first."""

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round under way; returns when it has ended. Harmless where it never began."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            pause = self._turn()

    def _turn(self) -> float:
        """One round, and a checkpoint if it is time; seconds to pause."""
        begun = time.monotonic()
        try:
            self.last = self._sealer.round()
            self._on_round(self.last)
            if not self.last.leading:
                return max(self._interval, STANDBY)
            if self._notary is not None and self._due(self.last.size):
                self._signed_size = self._notary.publish().size
                self._sign_at = time.monotonic() + self._checkpoint_every
        except (LedgerError, OSError, SQLAlchemyError, PsycopgError) as error:
            # Whatever the database says: a thread that ended would leave the log standing, and nobody told.
            self._on_error(error)
            self._sign_at = time.monotonic() + self._checkpoint_every
            return max(self._interval, STANDBY)
        if self.last.more:
            return 0.0
        # A round that is slow because the machine is busy leaves some of it to the writers.
        return max(self._interval - (time.monotonic() - begun), self._interval / 4)

    def _due(self, size: int) -> bool:
        return size > self._signed_size and time.monotonic() >= self._sign_at
