"""The ledger as a dispatcher uses it: blocking calls run in threads, and an outcome is tried until it is written."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import ParamSpec, TypeVar

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential

from gateway.alarms import alarm_doubts
from gateway.dispatcher.waves import Decide, Waves
from gateway.service.forks import begin
from gateway.service.tables import EffectTables
from gateway.turn.tables import TableInForce, decided_under
from gateway.turn.unfolding import Unfolding
from ledger.append import Appended, Change, Ledger
from ledger.change import SideRow
from ledger.errors import LedgerError, LicenceRefused, OutcomeUnknown, UnwritableValue
from ledger.sharding import StreamName
from ledger.state import StreamState

P = ParamSpec("P")
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

DecideWith = Callable[[Unfolding, TableInForce, T], Sequence[SideRow]]
"""As ``Decide``, on what came of the work that the transaction did first."""

INSIDE_THREADS = 4
"""Calls that run in the ledger's own database at once."""

LONGEST_PAUSE = 5.0
"""Seconds between two tries to write what must be written."""

_log = structlog.get_logger(__name__)


class Books:
    """Decisions on streams, taken in threads of its own. ``clock``: aware datetimes. Close it at the end."""

    def __init__(
        self,
        ledger: Ledger,
        tables: EffectTables,
        *,
        clock: Callable[[], datetime],
        sleep: Sleep = asyncio.sleep,
        threads: int = 8,
    ) -> None:
        """See the class; ``threads``: how many decisions run at once."""
        self._ledger = ledger
        self._tables = tables
        self._clock = clock
        self._sleep = sleep
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dispatcher-ledger")
        self._waves = Waves(ledger, tables, self._threads, clock)
        # What takes as long as a tool does must not keep decisions waiting.
        self._inside = ThreadPoolExecutor(INSIDE_THREADS, thread_name_prefix="dispatcher-inside")

    @property
    def now(self) -> datetime:
        """The time for decisions."""
        return self._clock()

    def close(self) -> None:
        """Wait for what runs; nothing can be asked any more."""
        self._inside.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer of a blocking call."""
        call = partial(question, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def decide(self, stream: StreamName, decide: Decide) -> Appended:
        """Append what ``decide`` makes of the stream. Raises what ``Ledger.append`` raises."""
        appended = await self._waves.decide(stream, decide)
        alarm_doubts(appended)
        return appended

    async def decide_with(
        self, stream: StreamName, work: Callable[[Connection], T], decide: DecideWith[T]
    ) -> Appended:
        """Do ``work`` and append what ``decide`` makes of the stream and of what came of it, in one transaction.

        Raises what ``Ledger.append_with`` raises.
        """
        while True:
            force = await self.ask(self._tables.current, stream.tenant)
            change = partial(self._change_with, decide, force)
            call = partial(self._ledger.append_with, stream.tenant, stream.commit_key, work, change)
            try:
                appended = await asyncio.get_running_loop().run_in_executor(self._inside, call)
            except _OlderTable:
                # Rolled back, and done again: a newer one is not asked for while rows of the stream are locked.
                continue
            alarm_doubts(appended)
            return appended

    def _change_with(
        self, decide: DecideWith[T], force: TableInForce, state: StreamState, found: T
    ) -> Change:
        if decided_under(state) > force.version:
            raise _OlderTable
        unfolding = begin(self._ledger, state, self._clock())
        side = tuple(decide(unfolding, force, found))
        return unfolding.change(side)

    async def insist(self, stream: StreamName, decide: Decide, written: Callable[[], bool]) -> None:
        """Append what ``decide`` makes of the stream, however long the database stays away.

        ``written`` (blocking) says whether it is written already; asked where a COMMIT's fate is unknown. Raises
        UnwritableValue and LicenceRefused, which no patience cures.
        """
        try:
            await self.decide(stream, decide)
        except (LedgerError, SQLAlchemyError) as error:
            await self._insist_after(error, stream, decide, written)

    async def _insist_after(
        self,
        first: LedgerError | SQLAlchemyError,
        stream: StreamName,
        decide: Decide,
        written: Callable[[], bool],
    ) -> None:
        failed: Exception | None = first
        unsure = isinstance(first, OutcomeUnknown)
        retrying = AsyncRetrying(
            retry=retry_if_exception(_may_pass),
            wait=wait_exponential(multiplier=0.1, max=LONGEST_PAUSE),
            sleep=self._sleep,
            before_sleep=partial(_warn, stream),
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                if failed is not None:
                    # The first try is over already: what came of it is judged here as that of any other.
                    earlier, failed = failed, None
                    raise earlier
                if unsure and await self.ask(written):
                    return
                try:
                    await self.decide(stream, decide)
                except OutcomeUnknown:
                    unsure = True
                    raise


class _OlderTable(Exception):
    """Calls of the stream were decided under a newer table than this process knew when it began."""


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, UnwritableValue | LicenceRefused):
        return False
    return isinstance(error, LedgerError | SQLAlchemyError)


def _warn(stream: StreamName, state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome is not None else None
    _log.warning(
        "outcome_not_recorded_yet",
        commit_key=stream.commit_key,
        tries=state.attempt_number,
        error=getattr(error, "code", type(error).__name__),
    )
