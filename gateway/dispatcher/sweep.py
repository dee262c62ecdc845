"""The sweep: what no running call will do. Leases that ran out, retries that are due, streams that fell silent."""

import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from datetime import timedelta
from typing import TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from gateway.dispatcher.books import Books, Sleep
from gateway.dispatcher.cooling import Cooling
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.waves import Decide
from gateway.failpoints import FailPoint, reached
from gateway.turn import dispatching
from gateway.turn.advance import advance
from gateway.turn.tables import TableInForce
from gateway.turn.tokens import finish_stream
from gateway.turn.unfolding import Unfolding
from ledger.change import SeizeLicence, SideRow
from ledger.errors import LeaseLost, LedgerError, LedgerUnavailable
from ledger.sharding import StreamName
from ledger.work import ExpiredLease, Work

T = TypeVar("T", bound=Hashable)
LEASE_EXPIRED = "lease_expired"

_log = structlog.get_logger(__name__)


class Sweep:
    """Looks over the served shards, at the start and then every ``sweep_interval``.

    ``found_work`` is called after a round that changed something.
    """

    def __init__(
        self,
        books: Books,
        work: Work,
        settings: DispatcherSettings,
        *,
        sleep: Sleep,
        found_work: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """See the class."""
        self._books = books
        self._work = work
        self._settings = settings
        self._sleep = sleep
        self._found_work = found_work
        self._cooling = Cooling(monotonic)

    async def run(self) -> None:
        """Sweep until cancelled; a database that is away is waited for."""
        while True:
            try:
                if await self.once():
                    self._found_work()
            except (LedgerError, SQLAlchemyError) as error:
                _log.warning("sweep_failed", error=str(error))
            except Exception:  # noqa: BLE001 - one round that breaks must not end all that follow
                _log.exception("sweep_failed")
            await self._sleep(self._settings.sweep_interval)

    async def once(self) -> int:
        """One round; the number of streams that it changed. Raises LedgerUnavailable where it cannot look."""
        # Beside those to work on, as many as may be passed over: what cannot be decided must not hide the others.
        shards, limit = self._settings.shards, self._settings.sweep_batch + len(self._cooling)
        leases = await self._books.ask(self._work.expired_leases, shards, limit)
        changed = await self._each(leases, self._seize)
        due = await self._books.ask(self._work.due_retries, shards, self._books.now, limit)
        changed += await self._each(due, self._advance)
        idle = timedelta(seconds=self._settings.idle_timeout)
        silent = await self._books.ask(self._work.idle_streams, shards, idle, limit)
        return changed + await self._each(silent, self._end_idle)

    async def _each(self, found: Sequence[T], act: Callable[[T], Awaitable[bool]]) -> int:
        changed = 0
        for item in found:
            if self._cooling.holds(item):
                continue
            try:
                changed += await act(item)
                self._cooling.forget(item)
            except LeaseLost:
                continue
            except LedgerUnavailable:
                raise
            except Exception as error:  # noqa: BLE001 - one stream that cannot be decided must not end the others' sweep
                self._cooling.leave(item)
                _log.error("not_swept", item=str(item), error=repr(error))
        return changed

    async def _seize(self, lease: ExpiredLease) -> bool:
        """Decide about a dispatch that was outlived. LeaseLost: its worker has renewed the lease or settled it."""
        reached(FailPoint.EXPIRED_FOUND)
        await self._books.decide(lease.stream, _seizing(lease))
        reached(FailPoint.SEIZED)
        _log.warning("lease_expired", commit_key=lease.stream.commit_key, intent_id=lease.intent_id)
        return True

    async def _advance(self, stream: StreamName) -> bool:
        reached(FailPoint.RETRY_DUE)
        return bool((await self._books.decide(stream, _advancing)).events)

    async def _end_idle(self, stream: StreamName) -> bool:
        idle = timedelta(seconds=self._settings.idle_timeout)
        return bool((await self._books.decide(stream, _ending(idle))).events)


def _seizing(lease: ExpiredLease) -> Decide:
    def decide(unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        unsent = dispatching.undone(unfolding, lease.intent_id, lease.attempt)
        dispatching.lose(unfolding, force, lease.intent_id, lease.attempt, because=LEASE_EXPIRED)
        seized = SeizeLicence(
            intent_id=lease.intent_id, attempt=lease.attempt, seen_epoch=lease.epoch, unsent=unsent
        )
        reached(FailPoint.SEIZE_DECIDED)
        return (seized,)

    return decide


def _advancing(unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
    advance(unfolding, force)
    return ()


def _ending(idle: timedelta) -> Decide:
    def decide(unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        state = unfolding.state
        silent_since = state.last_writer_at
        if state.finished is None and silent_since is not None and unfolding.now - silent_since >= idle:
            finish_stream(unfolding, "error")
            advance(unfolding, force)
        return ()

    return decide
