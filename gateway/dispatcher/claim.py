"""Claiming a released call: its dispatch and its lease are durable before anything is sent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from effects.classes import EffectClass
from effects.intent import IntentState
from gateway.dispatcher.books import Books
from gateway.dispatcher.leases import Lease
from gateway.dispatcher.settings import DispatcherSettings
from gateway.failpoints import FailPoint, reached
from gateway.turn import dispatching
from gateway.turn.dispatching import Assignment
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.append import Appended
from ledger.braking.admission import FORGOTTEN, Admission, Admissions, Asking, Refusal
from ledger.braking.pausing import NOT_PAUSED
from ledger.change import Licence, SideRow
from ledger.errors import LicenceRefused
from ledger.incarnation import NOT_TAKEN_IN
from ledger.state import Intent
from ledger.work import ReleasedCall

FIRST_EPOCH = 1
"""Epoch of a fresh lease; whoever seizes it raises the epoch."""

ADMITTED_FOR = FORGOTTEN / 2
"""Seconds within which a call that was let in has to be claimed: well before its place is given to another."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClaimedCall:
    """A call that this worker, and no other, may send.

    ``window_ends``: monotonic seconds until which the tool recognises the call's idempotency key; None: never.
    """

    assignment: Assignment
    lease: Lease
    window_ends: float | None


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Nothing to send. ``waits``: the call is still released, so it will be found again. ``paused``: its tool is.

    ``refusal``: its tool has limits, and there is no room.
    """

    waits: bool
    paused: bool = False
    refusal: Refusal | None = None


class Claims:
    """Claims calls for one worker."""

    def __init__(
        self,
        books: Books,
        settings: DispatcherSettings,
        worker: str,
        monotonic: Callable[[], float],
        *,
        admissions: Admissions,
        found_limited: Callable[[ReleasedCall], None],
    ) -> None:
        """``worker``: name of this process's dispatcher, unlike every other's. ``found_limited``: told of calls whose
        tool has limits.
        """
        self._admissions = admissions
        self._found_limited = found_limited
        self._books = books
        self._settings = settings
        self._worker = worker
        self._monotonic = monotonic

    async def claim(self, call: ReleasedCall) -> ClaimedCall | Unclaimed:
        """Claim it, if the gate still lets it go and nobody was faster. Raises what ``Ledger.append`` raises, but for
        LicenceRefused: the database found what the gate should have; it is reported, and the call is not sent."""
        decision = _Claim(call, self._worker, self._settings)
        before = self._monotonic()
        try:
            appended = await self._books.decide(call.stream, decision)
            asking = decision.asking
            if asking is not None:
                self._found_limited(call)
                asked_at = self._monotonic()
                answer = await self._books.ask(self._admissions.ask, asking)
                if isinstance(answer, Refusal):
                    return Unclaimed(waits=True, refusal=answer)
                return await self._claim_admitted(call, asking, answer, asked_at)
        except LicenceRefused as refused:
            return self._refused(call, refused)
        return self._claimed(call, decision, appended, before)

    async def _claim_admitted(
        self, call: ReleasedCall, asking: Asking, admission: Admission, asked_at: float
    ) -> ClaimedCall | Unclaimed:
        decision = _Claim(
            call,
            self._worker,
            self._settings,
            admitted_after=asking.after_attempt,
            still_admitted=lambda: self._monotonic() < asked_at + ADMITTED_FOR,
        )
        before = self._monotonic()
        claimed = False
        try:
            appended = await self._books.decide(call.stream, decision)
            claimed = decision.assignment is not None
        finally:
            if not claimed:
                await self._books.ask(self._admissions.give_back, asking, admission)
        return self._claimed(call, decision, appended, before)

    def _refused(self, call: ReleasedCall, refused: LicenceRefused) -> Unclaimed:
        if refused.constraint == NOT_PAUSED:
            return Unclaimed(waits=True, paused=True)
        if refused.constraint == NOT_TAKEN_IN:
            _log.info("not_taken_in_yet", commit_key=call.stream.commit_key, intent_id=call.intent_id)
            return Unclaimed(waits=True)
        _log.error(
            "speculative_effect_violation",
            commit_key=call.stream.commit_key,
            intent_id=call.intent_id,
            constraint=refused.constraint,
            detail=str(refused),
        )
        return Unclaimed(waits=True)

    def _claimed(
        self, call: ReleasedCall, decision: "_Claim", appended: Appended, before: float
    ) -> ClaimedCall | Unclaimed:
        assignment = decision.assignment
        intent = appended.state.intents.get(call.intent_id)
        if assignment is None or intent is None:
            return Unclaimed(waits=intent is not None and intent.state is IntentState.RELEASED)
        reached(FailPoint.CLAIM_COMMITTED)
        seconds = self._settings.lease_seconds(assignment.timeout)
        lease = Lease(
            call.stream, call.intent_id, assignment.attempt, FIRST_EPOCH, seconds, before, self._worker
        )
        return ClaimedCall(assignment, lease, self._window_ends(assignment, intent))

    def _window_ends(self, assignment: Assignment, intent: Intent) -> float | None:
        if assignment.window is None or intent.first_dispatched_at is None:
            return None
        spent = (self._books.now - intent.first_dispatched_at).total_seconds()
        return self._monotonic() + assignment.window - spent


class _Claim:
    """The decision; ``assignment`` is what it came to when it was last taken.

    ``asking``: it came to nothing, for the tool has limits and the call is not let in. ``admitted_after``: it is, for the
    attempt behind this one and for no other, while ``still_admitted``.
    """

    def __init__(
        self,
        call: ReleasedCall,
        worker: str,
        settings: DispatcherSettings,
        *,
        admitted_after: int | None = None,
        still_admitted: Callable[[], bool] = lambda: True,
    ) -> None:
        self.assignment: Assignment | None = None
        self.asking: Asking | None = None
        self._admitted_after = admitted_after
        self._still_admitted = still_admitted
        self._call = call
        self._worker = worker
        self._settings = settings

    def __call__(self, unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        intent_id = self._call.intent_id
        self.assignment, self.asking = None, None
        intent = unfolding.state.intents.get(intent_id)
        limits = force.limits_of(None if intent is None else intent.tool)
        if self._admitted_after is not None and not self._is_admitted(intent):
            return ()
        if limits and self._admitted_after is None:
            # What is not released now is not to be released here, and sent in one: nobody would have let it in.
            if intent is not None and intent.state is IntentState.RELEASED:
                self.asking = Asking(self._call.stream, intent_id, intent.attempts, limits)
            return ()
        self.assignment = dispatching.claim(
            unfolding, force, intent_id, worker=self._worker, epoch=FIRST_EPOCH
        )
        if self.assignment is None:
            return ()
        licence = Licence(
            intent_id=intent_id,
            attempt=self.assignment.attempt,
            branch=unfolding.intent(intent_id).branch,
            effect=self.assignment.effect.value,
            once_key=intent_id if self.assignment.effect is EffectClass.WRITE else None,
            worker=self._worker,
            epoch=FIRST_EPOCH,
            lease_seconds=self._settings.lease_seconds(self.assignment.timeout),
        )
        reached(FailPoint.CLAIM_DECIDED)
        return (licence,)

    def _is_admitted(self, intent: Intent | None) -> bool:
        # Whoever stood still since may find that another has sent the call meanwhile, and given its place away.
        return intent is not None and intent.attempts == self._admitted_after and self._still_admitted()
