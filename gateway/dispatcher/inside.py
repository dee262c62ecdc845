"""One claimed call whose tool lives in the ledger's own database: it happens in the transaction that records its outcome.

So there is nothing to be in doubt about. Where the transaction is rolled back, by a crash, a lost lease or a lost connection,
the call did not happen; whoever finds its lease run out says so, and it is sent again (``dispatching.lose``). A connection
that is lost behind the first statement counts as such a dispatch, for it may be the statements that end it (and the database
with it); a database that is away before is waited for.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from effects.intent import ResultStatus
from effects.statements import Statements
from gateway.dispatcher.books import LONGEST_PAUSE, Books, Sleep
from gateway.dispatcher.claim import ClaimedCall
from gateway.dispatcher.leases import LEASE_LOST
from gateway.dispatcher.outcome import Outcomes, closing
from gateway.dispatcher.settings import DispatcherSettings
from gateway.failpoints import FailPoint, decided_inside, reached
from gateway.turn import dispatching
from gateway.turn.dispatching import Assignment, Outcome
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from gateway.upstream.local import OFF
from gateway.upstream.port import Answered, NotSent
from gateway.upstream.postgres.replies import replied
from ledger.change import SideRow
from ledger.errors import AppendContention, LedgerError, LedgerUnavailable, StatementsBroken, UnwritableValue
from ledger.rows import Found
from ledger.statements import Failed, Undone, run_statements

FAILED = "failed_inside"
BROKEN = "connection_lost_inside"
_PASSES = (LedgerUnavailable, AppendContention)

_log = structlog.get_logger(__name__)


class InsideCall:
    """Runs one claimed call, as often as it is known not to have happened. Used once.

    ``passed``: awaited before each try; False: the call is to be given back. ``allowed``: whether its tenant may run
    statements here at all.
    """

    def __init__(
        self,
        claimed: ClaimedCall,
        books: Books,
        outcomes: Outcomes,
        settings: DispatcherSettings,
        *,
        monotonic: Callable[[], float],
        sleep: Sleep,
        passed: Callable[[str, str], Awaitable[bool]],
        allowed: bool,
    ) -> None:
        """See the class."""
        self._call = claimed.assignment
        self._lease = claimed.lease
        self._books = books
        self._outcomes = outcomes
        self._settings = settings
        self._monotonic = monotonic
        self._sleep = sleep
        self._passed = passed
        self._allowed = allowed
        self._tries = 0

    async def run(self) -> None:
        """Run the statements and record what came of them."""
        pause, unwritable = self._settings.backoff, False
        while await self._may_begin():
            self._tries += 1
            trial = Trial(
                self._call,
                partial(closing, self._lease),
                tries=self._tries,
                last=self._tries >= self._settings.tries,
                allowed=self._allowed,
                withheld=unwritable,
            )
            try:
                await self._books.decide_with(self._lease.stream, trial.work, trial.decide)
            except UnwritableValue:
                unwritable = True
                continue
            except (LedgerError, SQLAlchemyError) as error:
                _log.warning("not_run_yet", intent_id=self._call.intent_id, error=repr(error))
                if trial.broken_by(error):
                    await self._lose_broken()
                    return
                if not isinstance(error, _PASSES) and self._tries >= self._settings.tries:
                    await self._outcomes.lose(self._lease, because=FAILED)
                    return
            else:
                if trial.over:
                    reached(FailPoint.OUTCOME_COMMITTED)
                    return
            await self._sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _lose_broken(self) -> None:
        attempt = self._call.attempt
        if attempt < dispatching.MAX_ATTEMPTS:
            await self._sleep(self._settings.pause_after(attempt))
        # Where the COMMIT took place after all, the dispatch is not awaited any more, and this says nothing.
        await self._outcomes.lose(self._lease, because=BROKEN)

    async def _may_begin(self) -> bool:
        if not await self._passed(self._call.tenant, self._call.tool):
            await self._outcomes.give_back(self._lease)
            return False
        if self._lease.holds(self._monotonic()):
            reached(FailPoint.SENDING)
            return True
        await self._outcomes.lose(self._lease, because=LEASE_LOST)
        return False


class Trial:
    """One transaction. ``over``: nothing more is to be done about the dispatch."""

    def __init__(
        self,
        call: Assignment,
        close: Callable[..., SideRow],
        *,
        tries: int,
        last: bool,
        allowed: bool,
        withheld: bool,
    ) -> None:
        """``last``: what passes is recorded, too. ``withheld``: the ledger cannot hold what the statements give."""
        self.over = False
        self._call = call
        self._close = close
        self._tries = tries
        self._last = last
        self._allowed = allowed
        self._withheld = withheld
        self._connection: Connection | None = None
        self._ran = False

    def broken_by(self, error: Exception) -> bool:
        """Whether ``error`` is the end of the connection while the statements ran, or behind them."""
        return isinstance(error, StatementsBroken) or (self._ran and isinstance(error, LedgerUnavailable))

    def work(self, connection: Connection) -> Answered | NotSent:
        """Run the statements."""
        self._connection, self._ran = connection, False
        if not self._allowed:
            return NotSent(OFF, "the tenant's table may not run statements here", lasting=True)
        reply = replied(self._call, partial(self._run, connection))
        self._ran = True
        reached(FailPoint.ANSWER_RECEIVED)
        return reply

    def decide(
        self, unfolding: Unfolding, force: TableInForce, reply: Answered | NotSent
    ) -> Sequence[SideRow]:
        """Record ``reply``, unless the dispatch is not awaited any more: then nothing happens, and it did not."""
        call = self._call
        unsent = isinstance(reply, NotSent)
        awaited = dispatching.awaits(unfolding.state.intents.get(call.intent_id), call.attempt)
        again = isinstance(reply, NotSent) and not reply.lasting and not self._last
        self.over = not (awaited and again)
        if not awaited or again:
            return ()
        dispatching.settle(unfolding, force, call.intent_id, call.attempt, self._outcome(reply))
        reached(FailPoint.OUTCOME_DECIDED)
        if self._connection is not None:
            decided_inside(self._connection)
        return (self._close(unsent=unsent),)

    def _run(
        self, connection: Connection, statements: Statements, parameters: dict[str, object]
    ) -> Found | Failed | Undone:
        return run_statements(
            connection,
            statements.texts,
            parameters,
            role=statements.role,
            seconds=self._call.timeout,
            most=self._call.max_result,
        )

    def _outcome(self, reply: Answered | NotSent) -> Outcome:
        if isinstance(reply, NotSent):
            told = {"because": reply.because, "detail": reply.detail}
            content = {name: value for name, value in told.items() if value is not None}
            return Outcome(ResultStatus.UNAVAILABLE, content, unsent=True, tries=self._tries)
        said: object = {"unwritable": True} if self._withheld else reply.content
        return Outcome(reply.status, said, tries=self._tries, layer=reply.layer)
