"""Decisions in waves: what gathers while a wave is decided goes with the next one. They read their streams together, and ask
for the effect table together.

One look at the newest table serves every decision of a wave, and it begins after the last of them was asked for; who finds
calls that others decided under a newer one meanwhile looks again. No thread
waits for a commit, so what a wave has to write goes out together.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from threading import Lock

import structlog

from gateway.service.forks import begin
from gateway.service.tables import EffectTables
from gateway.turn.tables import TableInForce, decided_under
from gateway.turn.unfolding import Unfolding
from ledger.append import Appended, Change, Ledger
from ledger.change import SideRow
from ledger.sharding import StreamName
from ledger.state import StreamState

_log = structlog.get_logger(__name__)

Decide = Callable[[Unfolding, TableInForce], Sequence[SideRow]]
"""Adds events to the unfolding and answers with the rows that stand or fall with them. May be asked more than once."""

AT_ONCE = 2
"""Waves that are decided at the same time: one asks for the table while another one computes."""

LARGEST = 64
"""Decisions of one wave: the first of them is not to wait for all the others."""


@dataclass(frozen=True, slots=True)
class _Asked:
    stream: StreamName
    decide: Decide
    told: "asyncio.Future[Appended]"


class Waves:
    """Decisions of one event loop, taken in ``threads``. ``clock``: aware datetimes."""

    def __init__(
        self, ledger: Ledger, tables: EffectTables, threads: Executor, clock: Callable[[], datetime]
    ) -> None:
        """See the class."""
        self._ledger = ledger
        self._tables = tables
        self._threads = threads
        self._clock = clock
        self._waiting: list[_Asked] = []
        self._free = AT_ONCE
        self._answers: _Answers | None = None

    async def decide(self, stream: StreamName, decide: Decide) -> Appended:
        """Append what ``decide`` makes of the stream. Raises what ``Ledger.append`` raises."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[Appended] = loop.create_future()
        self._waiting.append(_Asked(stream, decide, told))
        if self._free:
            self._free -= 1
            # Not at once: whoever else is about to ask in this turn of the loop comes along.
            loop.call_soon(self._go)
        return await told

    def _go(self) -> None:
        """Take the next wave, or give the place up."""
        if not self._waiting:
            self._free += 1
            return
        wave, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
        loop = asyncio.get_running_loop()
        if self._answers is None or self._answers.loop is not loop:
            self._answers = _Answers(loop)
        try:
            deciding = loop.run_in_executor(self._threads, self._decide_all, wave, self._answers)
        except RuntimeError as error:
            self._free += 1
            for asked in wave:
                _tell(asked.told, error)
            return
        deciding.add_done_callback(lambda _done: self._go())

    def _decide_all(self, wave: Sequence[_Asked], answers: "_Answers") -> None:
        self._warm(wave)
        tables: dict[str, TableInForce | Exception] = {}
        for asked in wave:
            tenant = asked.stream.tenant
            if tenant not in tables:
                tables[tenant] = self._table(tenant)
            self._decide(asked, tables[tenant], partial(answers.put, asked.told))

    def _warm(self, wave: Sequence[_Asked]) -> None:
        """Have all their states read in one statement, where they are not known yet."""
        try:
            self._ledger.warm([asked.stream for asked in wave])
        except Exception as error:  # noqa: BLE001 - whoever decides finds out for itself, and each who asked is told
            _log.warning("streams_not_read_together", error=type(error).__name__)

    def _table(self, tenant: str) -> TableInForce | Exception:
        try:
            return self._tables.current(tenant)
        except Exception as error:  # noqa: BLE001 - each of those who asked is told
            return error

    def _decide(
        self,
        asked: _Asked,
        force: TableInForce | Exception,
        tell: Callable[[Appended | BaseException], None],
    ) -> None:
        if isinstance(force, Exception):
            tell(force)
            return

        def change(state: StreamState) -> Change:
            unfolding = begin(self._ledger, state, self._clock())
            newest = self._tables.at_least(asked.stream.tenant, decided_under(state), force)
            side = tuple(asked.decide(unfolding, newest))
            return unfolding.change(side)

        try:
            self._ledger.append_then(asked.stream.tenant, asked.stream.commit_key, change, tell)
        except Exception as error:  # noqa: BLE001 - the others of the wave are decided all the same
            tell(error)


class _Answers:
    """Answers on their way from threads into the loop: those of one group commit come together, and wake it once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._lock = Lock()
        self._waiting: list[tuple[asyncio.Future[Appended], Appended | BaseException]] = []

    def put(self, told: "asyncio.Future[Appended]", outcome: Appended | BaseException) -> None:
        """Tell it in the loop. From any thread."""
        with self._lock:
            self._waiting.append((told, outcome))
            if len(self._waiting) > 1:
                return
            try:
                self.loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                # The loop is closed: nobody waits any more.
                self._waiting.clear()

    def _deliver(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for told, outcome in waiting:
            _tell(told, outcome)


def _tell(told: "asyncio.Future[Appended]", outcome: Appended | BaseException) -> None:
    if told.done():
        return
    if isinstance(outcome, Appended):
        told.set_result(outcome)
    else:
        told.set_exception(outcome)
