"""Leases: the permission to send one attempt, renewed while the call runs, and lost for good once it cannot be."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from gateway.dispatcher.books import Sleep
from gateway.failpoints import FailPoint, reached
from ledger.append import Ledger
from ledger.sharding import StreamName

LEASE_LOST = "lease_lost"
"""Why nothing was sent, or sent again, once the lease was over."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class Lease:
    """A lease as this process knows it. ``since``: monotonic seconds before it was last granted or renewed.

    By this clock it never seems to last longer than by the database's: the database counts from later on.
    """

    stream: StreamName
    intent_id: str
    attempt: int
    epoch: int
    seconds: float
    since: float
    worker: str | None = None
    lost: bool = False

    def holds(self, now: float) -> bool:
        """Whether a transmission may still begin at ``now``."""
        return not self.lost and now < self.since + self.seconds


class LeaseKeeper:
    """Renews the leases of running calls, each when a third of it is over."""

    def __init__(self, ledger: Ledger, *, floor: float, monotonic: Callable[[], float], sleep: Sleep) -> None:
        """``floor``: shortest lease in seconds; a tenth of it is how often the keeper looks."""
        self._ledger = ledger
        self._look = floor / 10
        self._monotonic = monotonic
        self._sleep = sleep
        self._leases: set[Lease] = set()

    def keep(self, lease: Lease) -> None:
        """Renew it from now on."""
        self._leases.add(lease)

    def let_go(self, lease: Lease) -> None:
        """Its call is over."""
        self._leases.discard(lease)

    async def run(self) -> None:
        """Renew until cancelled."""
        while True:
            await self._sleep(self._look)
            now = self._monotonic()
            # A lease that could not be renewed comes to its end by itself: ``Lease.holds``.
            due = [lease for lease in self._leases if now >= lease.since + lease.seconds / 3]
            await asyncio.gather(*(self._renew(lease) for lease in due))

    async def _renew(self, lease: Lease) -> None:
        if lease.lost:
            return
        reached(FailPoint.LEASE_RENEWING)
        before = self._monotonic()
        stream = lease.stream
        try:
            # Not in the threads of the books: decisions that wait for locks must not keep a renewal waiting.
            held = await asyncio.to_thread(
                self._ledger.renew,
                stream.tenant,
                stream.commit_key,
                lease.intent_id,
                lease.attempt,
                lease.epoch,
                lease.seconds,
            )
        except Exception as error:  # noqa: BLE001 - one renewal that breaks must not end the others
            _log.warning("lease_not_renewed", intent_id=lease.intent_id, error=repr(error))
            return
        reached(FailPoint.LEASE_RENEWED)
        if held:
            lease.since = before
        elif lease in self._leases:
            lease.lost = True
            _log.warning("lease_lost", commit_key=stream.commit_key, intent_id=lease.intent_id)
