"""One claimed call, from its first transmission to its recorded outcome (design.md, "Dispatch: what is promised")."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt, wait_exponential

from effects.classes import EffectClass
from effects.intent import ResultStatus
from gateway.dispatcher.books import Sleep
from gateway.dispatcher.claim import ClaimedCall
from gateway.dispatcher.leases import LEASE_LOST
from gateway.dispatcher.outcome import Outcomes
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.spans import TOOL_ERROR, DispatchSpans, failing
from gateway.failpoints import FailPoint, reached
from gateway.turn.dispatching import GIVEN_BACK, Outcome
from gateway.turn.probing import TIMEOUT
from gateway.upstream.port import Answered, MaybeSent, NotSent, Reply, Upstream

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Fenced:
    """The lease was over before the next transmission could begin."""

    because: str = LEASE_LOST


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The dispatcher stops, and the next transmission may not begin."""

    because: str = GIVEN_BACK


Sent = Reply | Fenced
"""What came of a transmission that was about to begin."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """The tool's timeout is over; the transmission goes on, and ``reply`` may still come."""

    reply: asyncio.Task[Sent]


Passed = Callable[[str, str], Awaitable[bool]]


async def _at_once(_tenant: str, _tool: str) -> bool:
    """Nothing holds a transmission back."""
    return True


End = Answered | NotSent | MaybeSent | Fenced | Withdrawn | Overdue

_ENDS: Mapping[type[End], str] = {
    NotSent: "not_sent",
    MaybeSent: "maybe_sent",
    Fenced: "fenced",
    Withdrawn: "given_back",
    Overdue: "overdue",
}

LAST_WORD = 2.0
"""Seconds that a dispatcher which ends takes to say of a call that it was not sent."""

UNTRACED = DispatchSpans()
"""Spans of the process' own tracer, without content."""


class Call:
    """Sends one claimed call as often as its class allows, and records what came of it. Used once."""

    def __init__(
        self,
        claimed: ClaimedCall,
        upstream: Upstream,
        outcomes: Outcomes,
        settings: DispatcherSettings,
        *,
        monotonic: Callable[[], float],
        sleep: Sleep,
        passed: Passed = _at_once,
        spans: DispatchSpans = UNTRACED,
    ) -> None:
        """``passed``: awaited before each transmission, with tenant and tool; it returns once that may begin. False: not here."""
        self._spans = spans
        self._passed = passed
        self._call = claimed.assignment
        self._lease = claimed.lease
        self._window_ends = claimed.window_ends
        self._upstream = upstream
        self._outcomes = outcomes
        self._settings = settings
        self._monotonic = monotonic
        self._sleep = sleep
        self._tries = 0
        # Attempts of one call share its fate: an earlier one that was lost may have happened.
        self._lost_before = claimed.assignment.lost_before and not self._is_read
        self._maybe_sent = self._lost_before

    async def run(self) -> asyncio.Task[Sent] | None:
        """Send and record. Answers with the reply still to come where the call is in doubt only by its timeout."""
        with self._spans.dispatch(self._call) as self._call:
            try:
                end = await self._send()
            except asyncio.CancelledError:
                await self._give_back_unsent()
                raise
            self._tell(end)
            return await self._record(end)

    async def _record(self, end: End) -> asyncio.Task[Sent] | None:
        if isinstance(end, Overdue):
            reached(FailPoint.CALL_OVERDUE)
            try:
                await self._outcomes.lose(self._lease, because=TIMEOUT)
            except BaseException:
                end.reply.cancel()
                raise
            return end.reply
        if isinstance(end, Answered):
            outcome = self._answered(end)
            await self._outcomes.settle(self._lease, outcome)
        elif isinstance(end, Withdrawn) and not self._maybe_sent:
            await self._outcomes.give_back(self._lease)
        elif isinstance(end, Fenced | Withdrawn) and self._is_read:
            await self._outcomes.lose(self._lease, because=end.because)
        elif not self._maybe_sent:
            await self._outcomes.settle(self._lease, self._unavailable(end, unsent=True))
        elif self._is_read:
            await self._outcomes.settle(self._lease, self._unavailable(end, unsent=False))
        else:
            pause = self._settings.pause_after(self._call.attempt)
            await self._outcomes.lose(self._lease, because=end.because, retry_after=pause)
        return None

    async def _give_back_unsent(self) -> None:
        """The process ends: what may have been sent is left to its lease, and nobody has to wait for it with the rest."""
        if not self._maybe_sent:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._outcomes.give_back(self._lease), LAST_WORD)

    async def await_late(self, waiting: asyncio.Task[Sent]) -> None:
        """Wait for the reply to a call that was left in doubt, and record it as late."""
        reached(FailPoint.LATE_AWAITED)
        reply = await _hold(waiting)
        reached(FailPoint.LATE_RECEIVED)
        if isinstance(reply, Answered):
            outcome = self._answered(reply)
            await self._outcomes.settle(self._lease, outcome)
        elif isinstance(reply, NotSent | Fenced) and not self._lost_before:
            await self._outcomes.settle(self._lease, self._unavailable(reply, unsent=True))

    def _tell(self, end: End) -> None:
        failed = _failure(end)
        content = end.content if isinstance(end, Answered) else None
        outcome = end.status.value if isinstance(end, Answered) else _ENDS[type(end)]
        self._spans.ended(outcome, failed=failed, tries=self._tries, content=content)
        _log.debug("dispatch_ended", tool=self._call.tool, outcome=outcome, because=failed, tries=self._tries)

    @property
    def _is_read(self) -> bool:
        return self._call.effect is EffectClass.READ_ONLY

    def _answered(self, end: Answered) -> Outcome:
        return Outcome(end.status, end.content, tries=self._tries, layer=end.layer)

    def _unavailable(self, end: NotSent | MaybeSent | Fenced | Withdrawn, *, unsent: bool) -> Outcome:
        content = {"because": end.because}
        if isinstance(end, NotSent) and end.detail is not None:
            content["detail"] = end.detail
        return Outcome(ResultStatus.UNAVAILABLE, content, unsent=unsent, tries=self._tries)

    async def _send(self) -> End:
        first = await self._transmit()
        return first if not self._worth_repeating(first) else await self._send_after(first)

    async def _send_after(self, first: End) -> End:
        before: list[End] = [first]

        async def transmit() -> End:
            return before.pop() if before else await self._transmit()

        retrying = AsyncRetrying(
            retry=retry_if_result(self._worth_repeating),
            stop=stop_after_attempt(self._settings.tries),
            wait=wait_exponential(multiplier=self._settings.backoff),
            sleep=self._sleep,
            retry_error_callback=_last,
        )
        end: End = await retrying(transmit)
        return end

    def _worth_repeating(self, end: End) -> bool:
        if isinstance(end, NotSent):
            return not end.lasting
        return isinstance(end, MaybeSent) and self._may_repeat()

    def _may_repeat(self) -> bool:
        """Whether the call may be transmitted again although it may have happened."""
        if self._is_read:
            return True
        if self._call.effect is EffectClass.WRITE or self._window_ends is None:
            return False
        return self._monotonic() < self._window_ends

    async def _transmit(self) -> End:
        if not await self._passed(self._call.tenant, self._call.tool):
            return Withdrawn()
        now = self._monotonic()
        if not self._lease.holds(now):
            return Fenced()
        if self._maybe_sent and not self._may_repeat():
            return MaybeSent("window_over")
        reached(FailPoint.REPEATING if self._maybe_sent else FailPoint.SENDING)
        self._tries += 1
        # Whoever is interrupted while it is under way has to take it for sent.
        before, self._maybe_sent = self._maybe_sent, True
        end = await self._exchange()
        self._maybe_sent = before or not isinstance(end, NotSent | Fenced)
        return end

    async def _exchange(self) -> End:
        timeout = self._call.timeout
        if self._may_repeat():
            return await self._reply(timeout)
        # Giving such a call up would lose its answer: the doubt is recorded, and the answer awaited all the same.
        reply = asyncio.create_task(self._reply(timeout + self._settings.late_wait))
        try:
            done, _ = await asyncio.wait({reply}, timeout=timeout)
        except asyncio.CancelledError:
            reply.cancel()
            raise
        return reply.result() if done else Overdue(reply)

    async def _reply(self, timeout: float) -> Sent:
        with self._spans.transmission(self._call, self._tries - 1) as call:
            # Again, for this may be another turn of the loop: nothing comes between here and the adapter.
            if not self._lease.holds(self._monotonic()):
                return Fenced()
            try:
                reply = await self._upstream.send(call, timeout=timeout)
            except Exception:  # noqa: BLE001 - an adapter that breaks has sent the call, for all we know
                _log.exception("upstream_failed", intent_id=call.intent_id)
                reply = MaybeSent("upstream_failed")
                failing(reply.because)
                return reply
            failing(_failure(reply))
        reached(FailPoint.ANSWER_RECEIVED)
        return reply


def _failure(end: End) -> str | None:
    """Stable code of what went wrong; None: nothing did."""
    if isinstance(end, Answered):
        return TOOL_ERROR if end.status is ResultStatus.TOOL_ERROR else None
    return TIMEOUT if isinstance(end, Overdue) else end.because


def _last(state: RetryCallState) -> End:
    assert state.outcome is not None  # noqa: S101 - tenacity calls back after an outcome only
    end: End = state.outcome.result()
    return end


async def _hold(waiting: asyncio.Task[Sent]) -> Sent:
    try:
        return await waiting
    except asyncio.CancelledError:
        waiting.cancel()
        raise
