"""Brakes of all tenants as this process knows them: asked of the database at most every ``FRESH`` seconds."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from threading import Lock

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from effects.speculation import on_probation
from gateway.turn.brakes import NONE, Brakes
from ledger.braking.pausing import Pause, Pauses
from ledger.braking.stops import Stop, Stops
from ledger.errors import LedgerError

FRESH = 0.5
"""Seconds for which an answer of the database is good."""

_log = structlog.get_logger(__name__)


class KnownBrakes:
    """What holds calls back, a moment old at most. While the database is away it is what it was."""

    def __init__(
        self,
        engine: Engine,
        clock: Callable[[], datetime],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """See the module."""
        self._pauses, self._stops = Pauses(engine), Stops(engine)
        self._clock = clock
        self._monotonic = monotonic
        self._lock = Lock()
        self._asked: float | None = None
        self._paused: Mapping[str, list[Pause]] = {}
        self._stopped: Mapping[str, list[Stop]] = {}

    def forget(self) -> None:
        """Something was changed: ask again."""
        self._asked = None

    def of(self, tenant: str) -> Brakes:
        """The brakes of a tenant."""
        self._refresh()
        paused, stopped = self._paused.get(tenant, ()), self._stopped.get(tenant, ())
        if not paused and not stopped:
            return NONE
        now = self._clock()
        return Brakes(
            frozenset(pause.tool for pause in paused),
            frozenset(stop.tool for stop in stopped if not on_probation(stop.at, now)),
        )

    def paused(self) -> Mapping[str, list[Pause]]:
        """Everything that is paused, by tenant."""
        self._refresh()
        return self._paused

    def stops(self, tenant: str) -> Mapping[str, Stop]:
        """The tools of a tenant that stopped, those on probation too."""
        self._refresh()
        return {stop.tool: stop for stop in self._stopped.get(tenant, ())}

    def _refresh(self) -> None:
        # Read once: ``forget`` may come between two readings.
        now, asked = self._monotonic(), self._asked
        if asked is not None and now - asked < FRESH:
            return
        with self._lock:
            asked = self._asked
            if asked is not None and now - asked < FRESH:
                return
            self._asked = now
            try:
                self._paused, self._stopped = self._pauses.all(), self._stops.all()
            except (LedgerError, SQLAlchemyError) as error:
                _log.warning("brakes_without_database", error=type(error).__name__)
