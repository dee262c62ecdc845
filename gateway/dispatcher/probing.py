"""The prober: for calls in doubt whose tool declares a probe, asks the world what became of them.

A doubt is claimed by a conditional update of its licence, which is closed and whose lease has no other use any more: until
that runs out no dispatcher probes it. Closing the licence ended the lease, so the first probe waits for none. Two that probe
at once do no harm: the answer of one of them is recorded.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog
from sqlalchemy.exc import SQLAlchemyError

from effects.intent import IntentState, ResultStatus
from effects.limits import Limits
from gateway.dispatcher.books import Books, Sleep
from gateway.dispatcher.settings import DispatcherSettings
from gateway.turn import probing
from gateway.turn.probing import Found, ProbeCall, Probed
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from gateway.upstream.port import Answered, Upstream
from ledger.braking.admission import Asking, Refusal
from ledger.change import SideRow
from ledger.errors import LedgerError, LedgerUnavailable, UnwritableValue
from ledger.work import Doubt, Work

LOOKED_AGAIN = 300.0
"""Seconds after which a doubt is looked at again that no probe is declared for: the effect table may change."""

Paused = Callable[[str, str], Awaitable[bool]]

_log = structlog.get_logger(__name__)


class Prober:
    """Looks for doubts to probe every ``sweep_interval``. ``found_work`` is called when one was settled.

    ``paused(tenant, tool)``: whether nothing may be sent to the tool now; then a probe waits like any other call. It keeps to
    the limits of its tool too; of one that takes longer than ``admission.FORGOTTEN`` the place is given away before.
    """

    def __init__(
        self,
        books: Books,
        work: Work,
        upstream: Upstream,
        settings: DispatcherSettings,
        *,
        worker: str,
        sleep: Sleep,
        found_work: Callable[[], None],
        paused: Paused,
    ) -> None:
        """``worker``: name of this process's dispatcher, unlike every other's."""
        self._worker = worker
        self._books = books
        self._work = work
        self._upstream = upstream
        self._settings = settings
        self._sleep = sleep
        self._found_work = found_work
        self._paused = paused

    async def run(self) -> None:
        """Probe until cancelled; a database that is away is waited for."""
        while True:
            await self._sleep(self._settings.sweep_interval)
            try:
                if await self.once():
                    self._found_work()
            except (LedgerError, SQLAlchemyError) as error:
                _log.warning("probing_failed", error=str(error))
            except Exception:  # noqa: BLE001 - one round that breaks must not end all that follow
                _log.exception("probing_failed")

    async def once(self) -> int:
        """One round; the number of doubts that it settled. Raises LedgerUnavailable where it cannot look."""
        settings = self._settings
        found = await self._books.ask(self._work.doubts, settings.shards, settings.probes_at_once)
        settled = await asyncio.gather(*(self._probe(doubt) for doubt in found), return_exceptions=True)
        for outcome in settled:
            if isinstance(outcome, BaseException) and not isinstance(outcome, LedgerError | SQLAlchemyError):
                _log.error("probe_failed", error=repr(outcome))
        return sum(outcome is True for outcome in settled)

    async def _probe(self, doubt: Doubt) -> bool:
        look = _Look(doubt, self._settings.late_wait)
        try:
            await self._books.decide(doubt.stream, look)
        except LedgerUnavailable:
            raise
        except Exception:
            # Out of the way of the others: what cannot be decided is found first again and again.
            await self._books.ask(self._work.claim_doubt, doubt, LOOKED_AGAIN)
            raise
        if not isinstance(look.due, ProbeCall):
            await self._books.ask(self._work.claim_doubt, doubt, min(look.due, LOOKED_AGAIN))
            return False
        call = look.due
        if await self._paused(doubt.stream.tenant, call.assignment.tool):
            await self._books.ask(self._work.claim_doubt, doubt, self._settings.sweep_interval)
            return False
        pause = self._settings.probe_pause_after(call.number)
        # First of all, so that nobody takes of a limit what another dispatcher is about to use.
        if not await self._books.ask(self._work.claim_doubt, doubt, call.assignment.timeout + pause):
            return False
        if not look.limits:
            return await self._ask(doubt, call)
        return await self._ask_where_there_is_room(doubt, call, look.limits)

    async def _ask_where_there_is_room(
        self, doubt: Doubt, call: ProbeCall, limits: Mapping[str, Limits]
    ) -> bool:
        # Under a name of its own: it is no call of the stream, and another dispatcher may probe the same doubt after this one.
        name = f"probe:{self._worker}:{doubt.intent_id}"
        asking = Asking(doubt.stream, name, call.assignment.attempt, limits)
        answer = await self._books.ask(self._work.admissions.ask, asking)
        if isinstance(answer, Refusal):
            wait = max(answer.wait, self._settings.sweep_interval)
            await self._books.ask(self._work.put_doubt_off, doubt, min(wait, LOOKED_AGAIN))
            return False
        try:
            return await self._ask(doubt, call)
        finally:
            await self._books.ask(self._work.admissions.give_back, asking, answer)

    async def _ask(self, doubt: Doubt, call: ProbeCall) -> bool:
        try:
            reply = await self._upstream.send(call.assignment, timeout=call.assignment.timeout)
        except Exception as error:  # noqa: BLE001 - an adapter that breaks tells nothing
            _log.exception("probe_failed", intent_id=doubt.intent_id)
            answer: tuple[ResultStatus, object] = (ResultStatus.UNAVAILABLE, {"because": repr(error)})
        else:
            answer = (
                (reply.status, reply.content)
                if isinstance(reply, Answered)
                else (ResultStatus.UNAVAILABLE, {"because": reply.because})
            )
        finding = _Finding(call, *answer)
        try:
            await self._books.decide(doubt.stream, finding)
        except UnwritableValue as error:
            finding.content_is = {"unwritable": str(error)}
            await self._books.decide(doubt.stream, finding)
        if finding.probed is not None:
            _log.warning(
                "doubt_probed",
                commit_key=doubt.stream.commit_key,
                intent_id=doubt.intent_id,
                verdict=finding.probed.found.value,
                because=finding.probed.because,
            )
        return finding.probed is not None and finding.probed.found is not Found.UNKNOWN


class _Look:
    """``due``: what is to be done about the doubt, when it was last looked at; ``limits``: those of a probe that is due.
    Changes nothing.
    """

    def __init__(self, doubt: Doubt, late_wait: float) -> None:
        self.due: ProbeCall | float = float("inf")
        self.limits: Mapping[str, Limits] = {}
        self._doubt = doubt
        self._late_wait = late_wait

    def __call__(self, unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        intent = unfolding.state.intents.get(self._doubt.intent_id)
        if intent is not None and intent.state is IntentState.IN_DOUBT:
            self.due = probing.due(unfolding, force, intent, late_wait=self._late_wait)
        if isinstance(self.due, ProbeCall):
            self.limits = force.limits_of(self.due.assignment.tool)
        return ()


class _Finding:
    """``probed``: what was recorded when it was last taken; None: nothing. ``content_is``: kept in place of the answer."""

    def __init__(self, call: ProbeCall, status: ResultStatus, content: object) -> None:
        self.probed: Probed | None = None
        self.content_is: object = None
        self._call = call
        self._status = status
        self._content = content

    def __call__(self, unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        self.probed = None
        intent = unfolding.state.intents.get(self._call.assignment.intent_id)
        if intent is None:
            return ()
        probed = probing.judge(unfolding, self._call, intent, self._status, self._content)
        if self.content_is is not None:
            probed = Probed(probed.found, self.content_is, probed.because)
        if probing.record(unfolding, force, self._call, probed):
            self.probed = probed
        return ()
