"""Recording what became of a dispatch: once, whoever else decided about it meanwhile (design.md, "Dispatch")."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from gateway.dispatcher.books import Books
from gateway.dispatcher.leases import Lease
from gateway.failpoints import FailPoint, reached
from gateway.turn import dispatching
from gateway.turn.dispatching import Outcome
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.change import CloseLicence, SideRow
from ledger.errors import UnwritableValue
from ledger.events import EventType
from ledger.work import Work

_log = structlog.get_logger(__name__)


class Outcomes:
    """Writes outcomes and losses; neither gives up while the database is away."""

    def __init__(self, books: Books, work: Work) -> None:
        """See the class."""
        self._books = books
        self._work = work

    async def settle(self, lease: Lease, outcome: Outcome) -> None:
        """Record what came back: on time it settles the call and closes the licence, else it is kept as late."""
        try:
            await self._record(_Settlement(lease, outcome))
        except UnwritableValue as error:
            _log.warning("content_not_writable", intent_id=lease.intent_id, error=str(error))
            await self._record(_Settlement(lease, replace(outcome, content={"unwritable": str(error)})))
        reached(FailPoint.OUTCOME_COMMITTED)

    async def lose(self, lease: Lease, *, because: str, retry_after: float = 0.0) -> None:
        """Record that nobody knows whether the call happened, unless somebody decided about it already."""
        await self._record(_Loss(lease, because, retry_after))
        reached(FailPoint.LOSS_COMMITTED)

    async def give_back(self, lease: Lease) -> None:
        """Record that nothing was sent, so that whoever is next may, unless somebody decided about it already."""
        await self._record(_Return(lease))

    async def _record(self, decision: "_Settlement | _Loss | _Return") -> None:
        lease = decision.lease

        def written() -> bool:
            return decision.type is not None and self._work.outcome_recorded(
                lease.stream, lease.intent_id, lease.attempt, decision.type
            )

        await self._books.insist(lease.stream, decision, written)
        if decision.gone:
            decision.say_gone()


class _Settlement:
    """``type``: the event that it came to when it was last taken; ``gone``: the intent was not there."""

    def __init__(self, lease: Lease, outcome: Outcome) -> None:
        self.lease = lease
        self.type: EventType | None = None
        self.gone = False
        self._outcome = outcome

    def say_gone(self) -> None:
        """The database came back without the intent: nothing there can hold what came of it, so the log has to."""
        outcome = {"status": self._outcome.status.value, "content": self._outcome.content}
        _log.error(
            "outcome_of_lost_intent",
            commit_key=self.lease.stream.commit_key,
            intent_id=self.lease.intent_id,
            **outcome,
        )

    def __call__(self, unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        lease = self.lease
        self.gone = lease.intent_id not in unfolding.state.intents
        if self.gone:
            return ()
        on_time = dispatching.settle(unfolding, force, lease.intent_id, lease.attempt, self._outcome)
        self.type = EventType.DISPATCH_SETTLED if on_time else EventType.DISPATCH_LATE
        reached(FailPoint.OUTCOME_DECIDED)
        if not on_time:
            return ()
        return (closing(lease, unsent=self._outcome.unsent),)


class _Loss:
    """A loss needs no event type: taken again, it sees for itself that the dispatch is not awaited any more."""

    type: EventType | None = None

    def __init__(self, lease: Lease, because: str, retry_after: float) -> None:
        self.lease = lease
        self.gone = False
        self._because = because
        self._retry_after = retry_after

    def say_gone(self) -> None:
        """As that of a settlement."""
        _log.error(
            "loss_of_lost_intent", commit_key=self.lease.stream.commit_key, intent_id=self.lease.intent_id
        )

    def __call__(self, unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        lease = self.lease
        self.gone = lease.intent_id not in unfolding.state.intents
        if self.gone:
            return ()
        unsent = dispatching.undone(unfolding, lease.intent_id, lease.attempt)
        lost = dispatching.lose(
            unfolding,
            force,
            lease.intent_id,
            lease.attempt,
            because=self._because,
            retry_after=self._retry_after,
        )
        if not lost:
            return ()
        reached(FailPoint.LOSS_DECIDED)
        return (closing(lease, unsent=unsent),)


class _Return:
    """As a loss it needs no event type."""

    type: EventType | None = None

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.gone = False

    def say_gone(self) -> None:
        """Nothing was sent, and nothing is there that waits."""

    def __call__(self, unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        lease = self.lease
        if lease.intent_id not in unfolding.state.intents:
            return ()
        given_back = dispatching.give_back(unfolding, force, lease.intent_id, lease.attempt)
        return (closing(lease, unsent=True),) if given_back else ()


def closing(lease: Lease, *, unsent: bool = False) -> CloseLicence:
    """The licence under ``lease``, closed by whoever holds it."""
    return CloseLicence(
        intent_id=lease.intent_id,
        attempt=lease.attempt,
        epoch=lease.epoch,
        unsent=unsent,
        worker=lease.worker,
    )
