"""Decisions about one dispatch: claiming it, what its outcome makes of the intent, what a lost one leaves behind.

Order and once-only are the gate's and the database's; here it is decided what is *recorded* (design.md, "Dispatch").
"""

from dataclasses import dataclass
from datetime import timedelta

from effects.classes import EffectClass
from effects.intent import IntentState, Release, ResultStatus
from effects.outbound import NO_EXCEPTIONS, Outbound
from effects.tool import DEFAULT_MAX_RESULT
from effects.upstream import Server, Upstream
from gateway.errors import NotInDoubt
from gateway.traceparent import TRACE_LABEL, parsed_traceparent
from gateway.turn.advance import advance, doubt_repetition, hold_again
from gateway.turn.tables import TableInForce, other_definition
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.state import Intent

INSIDE = "postgres"
"""The kind of upstream that is the ledger's own database."""

GIVEN_BACK = "given_back"
"""Why a call waits again of which its dispatcher sent nothing."""

MAX_ATTEMPTS = 5
"""Dispatches of a call that may be repeated, before it is settled ``unavailable``."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back from one dispatch.

    ``unsent``: the call certainly never reached the tool. ``content`` is a JSON value. ``tries``: transmissions made.
    ``layer``: where a refusal comes from, ``transport``, ``protocol`` or ``tool``.
    """

    status: ResultStatus
    content: object = None
    unsent: bool = False
    tries: int = 1
    layer: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """All that a dispatcher needs to send one claimed call.

    ``upstream``: the table's word on where the tool is; ``server``: the MCP server that it names, as the table describes
    it. ``timeout`` and ``window`` in seconds. ``max_result``: bytes of an answer that are taken. ``outbound``: where it may
    go. ``traceparent``: W3C trace context of the call; None: the adapter begins a trace of its own. ``call_id``: the name
    that a provider or client gave the call. ``unsent_before``: earlier attempts that certainly did not happen.
    """

    tenant: str
    commit_key: str
    intent_id: str
    attempt: int
    epoch: int
    tool: str
    arguments_raw: str
    effect: EffectClass
    idempotency_key: str | None
    upstream: Upstream
    timeout: float
    window: float | None
    server: Server | None = None
    max_result: int = DEFAULT_MAX_RESULT
    outbound: Outbound = NO_EXCEPTIONS
    traceparent: str | None = None
    call_id: str | None = None
    unsent_before: int = 0

    @property
    def lost_before(self) -> bool:
        """Whether an earlier attempt may have happened."""
        return self.attempt - 1 > self.unsent_before

    @property
    def inside(self) -> bool:
        """Whether it happens in the ledger's own database, in the transaction that records its outcome."""
        return self.upstream.kind == INSIDE and self.effect is not EffectClass.READ_ONLY


def claim(
    unfolding: Unfolding, force: TableInForce, intent_id: str, *, worker: str, epoch: int
) -> Assignment | None:
    """Start a dispatch of a released call, if the gate still lets it go. None: it is no longer to be sent."""
    advance(unfolding, force)
    intent = unfolding.state.intents.get(intent_id)
    if intent is None or intent.state is not IntentState.RELEASED:
        return None
    judged = force.classify(intent.tool, intent.arguments_raw)
    if judged.upstream is None or intent.tool is None:
        return None
    if not intent.certainly_unsent and not _may_repeat(unfolding, force, intent):
        doubt_repetition(unfolding, intent)
        advance(unfolding, force)
        return None
    attempt = intent.attempts + 1
    assignment = Assignment(
        tenant=unfolding.state.tenant,
        commit_key=unfolding.state.commit_key,
        intent_id=intent_id,
        attempt=attempt,
        epoch=epoch,
        tool=intent.tool,
        arguments_raw=intent.arguments_raw or "{}",
        effect=intent.effect,
        idempotency_key=intent.idempotency_key,
        upstream=judged.upstream,
        timeout=judged.timeout,
        window=judged.window,
        server=judged.server,
        max_result=judged.max_result,
        outbound=force.table.outbound,
        traceparent=intent.traceparent or _trace_of_stream(unfolding),
        call_id=intent.call_id,
        unsent_before=intent.unsent_attempts,
    )
    unfolding.emit_for(
        EventType.DISPATCH_STARTED,
        intent,
        attempt=attempt,
        worker=worker,
        epoch=epoch,
        effect=intent.effect.value,
        release=(intent.release or Release.COMMITTED).value,
        **({"inside": True} if assignment.inside else {}),
    )
    return assignment


def _trace_of_stream(unfolding: Unfolding) -> str | None:
    label = unfolding.state.labels.get(TRACE_LABEL)
    return parsed_traceparent(label) if isinstance(label, str) else None


def awaits(intent: Intent | None, attempt: int) -> bool:
    """Whether the outcome of this dispatch is still awaited, so that it settles the intent."""
    return intent is not None and intent.open_attempt == attempt


def settle(unfolding: Unfolding, force: TableInForce, intent_id: str, attempt: int, outcome: Outcome) -> bool:
    """Record what came back. True if it settles the awaited dispatch; else it is kept as late.

    Of an intent that is redacted meanwhile only the status is recorded.
    """
    intent = unfolding.intent(intent_id)
    on_time = awaits(intent, attempt)
    content = None if intent.redacted else outcome.content
    body: dict[str, object] = {"status": outcome.status.value, "content": content}
    if outcome.layer is not None:
        body["layer"] = outcome.layer
    if on_time:
        body |= {"unsent": outcome.unsent, "tries": outcome.tries}
        unfolding.emit_for(EventType.DISPATCH_SETTLED, intent, attempt=attempt, **body)
    else:
        unfolding.emit_for(EventType.DISPATCH_LATE, intent, attempt=attempt, **body)
    advance(unfolding, force)
    return on_time


def lose(
    unfolding: Unfolding,
    force: TableInForce,
    intent_id: str,
    attempt: int,
    *,
    because: str,
    retry_after: float = 0.0,
) -> bool:
    """The outcome of a dispatch is not known: the call may have happened.

    A read is sent again (bounded), an IDEMPOTENT call inside its tool's window too, after ``retry_after`` seconds;
    anything else is in doubt. What ran in the ledger's own database did not happen, for its outcome would be here: it is
    sent again, bounded too. False if this dispatch is no longer awaited.
    """
    intent = unfolding.intent(intent_id)
    if not awaits(intent, attempt):
        return False
    if intent.inside:
        _undo(unfolding, intent, attempt, because)
    elif intent.effect is EffectClass.READ_ONLY and attempt >= MAX_ATTEMPTS:
        unfolding.emit_for(
            EventType.DISPATCH_SETTLED,
            intent,
            attempt=attempt,
            status=ResultStatus.UNAVAILABLE.value,
            content={"because": because},
            unsent=False,
        )
    elif _may_repeat(unfolding, force, intent):
        retry_at = (unfolding.now + timedelta(seconds=retry_after)).isoformat() if retry_after else None
        unfolding.emit_for(
            EventType.DISPATCH_EXPIRED, intent, attempt=attempt, because=because, retry_at=retry_at
        )
    else:
        unfolding.emit_for(EventType.DISPATCH_IN_DOUBT, intent, attempt=attempt, because=because)
    advance(unfolding, force)
    return True


def undone(unfolding: Unfolding, intent_id: str, attempt: int) -> bool:
    """Whether a dispatch that is lost now certainly did not happen, so that its licence is one for nothing sent."""
    intent = unfolding.state.intents.get(intent_id)
    return intent is not None and intent.inside and awaits(intent, attempt)


def give_back(unfolding: Unfolding, force: TableInForce, intent_id: str, attempt: int) -> bool:
    """Take a dispatch back of which nothing was sent: the call waits again, for whichever dispatcher is next.

    False if this dispatch is no longer awaited.
    """
    intent = unfolding.intent(intent_id)
    if not awaits(intent, attempt):
        return False
    _unsent(unfolding, intent, attempt, GIVEN_BACK)
    _wait_again(unfolding, intent_id, GIVEN_BACK)
    advance(unfolding, force)
    return True


def _undo(unfolding: Unfolding, intent: Intent, attempt: int, because: str) -> None:
    _unsent(unfolding, intent, attempt, because)
    if attempt < MAX_ATTEMPTS:
        _wait_again(unfolding, intent.intent_id, because)


def _unsent(unfolding: Unfolding, intent: Intent, attempt: int, because: str) -> None:
    unfolding.emit_for(
        EventType.DISPATCH_SETTLED,
        intent,
        attempt=attempt,
        status=ResultStatus.UNAVAILABLE.value,
        content={"because": because},
        unsent=True,
    )


def _wait_again(unfolding: Unfolding, intent_id: str, because: str) -> None:
    """Let a call wait that is settled as unsent, unless its block was voided meanwhile."""
    settled = unfolding.intent(intent_id)
    if settled.state is IntentState.SETTLED:
        hold_again(unfolding, settled, because)


def resolve(
    unfolding: Unfolding,
    force: TableInForce,
    intent: Intent,
    *,
    happened: bool,
    reason: str,
    by: str,
    evidence: object = None,
) -> None:
    """Settle a doubt by a person's word. Nothing is ever sent again under that intent. Raises ``NotInDoubt``."""
    if intent.state is not IntentState.IN_DOUBT:
        raise NotInDoubt(f"the intent is {intent.state.value}, not in doubt")
    status = ResultStatus.HAPPENED_UNKNOWN_RESULT if happened else ResultStatus.NOT_HAPPENED
    unfolding.emit_for(
        EventType.DISPATCH_RESOLVED,
        intent,
        attempt=intent.attempts,
        status=status.value,
        reason=reason,
        by=by,
        evidence=evidence,
    )
    advance(unfolding, force)


def _may_repeat(unfolding: Unfolding, force: TableInForce, intent: Intent) -> bool:
    """Whether a dispatch that may have happened may be followed by another: the tool would recognise the call.

    It would not after an IDEMPOTENT call's window, nor where the effect table now says WRITE of what it said less before,
    nor where it says otherwise of the tool than when the call was sent: whoever is there now may not know its key.
    """
    if intent.effect is EffectClass.READ_ONLY:
        return True
    judged = force.classify(intent.tool, intent.arguments_raw)
    if other_definition(intent.sent_definition, judged.definition):
        return False
    window = judged.window
    if intent.effect is not EffectClass.IDEMPOTENT or window is None or intent.first_dispatched_at is None:
        return False
    return unfolding.now - intent.first_dispatched_at < timedelta(seconds=window)
