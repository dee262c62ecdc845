"""Advancing a turn: after anything has happened, give every answer and release every call that the gate lets go.

Finality is decided before releases, both in the transaction of what caused them (design.md, "Order").
"""

import hashlib
from dataclasses import asdict

from effects import gate
from effects.approval import Because
from effects.canonical import canonical
from effects.classes import EffectClass
from effects.idempotency import idempotency_key
from effects.intent import BlockState, IntentState, Release, ResultStatus, StreamEnd, stream_end
from effects.policy import ReadsBehindWrites, WriteOrder
from effects.strict_json import parse
from gateway.turn import approving
from gateway.turn.adopting import adopt, adoptable, answer_redacted, left_alone, too_old, twin_lives
from gateway.turn.forking import repeats
from gateway.turn.standing import Case, Standing
from gateway.turn.tables import TableInForce, other_definition
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.state import Intent


def advance(unfolding: Unfolding, force: TableInForce) -> None:
    """Add every event that now follows, until nothing more does."""
    standing = Standing(unfolding, force)
    before = -1
    while before != unfolding.state.seq:
        before = unfolding.state.seq
        for intent in left_alone(unfolding.state):
            hold_again(unfolding, intent, "adopted_read_failed")
        _mark_stale(unfolding, standing)
        for action in (gate.Action.FINALISE, None):
            for intent_id in standing.living():
                _step(unfolding, force, standing, intent_id, only=action)


def decide_now(
    unfolding: Unfolding, force: TableInForce, standing: Standing, intent_id: str
) -> gate.Decision:
    """What the gate says of one intent as the stream stands in ``unfolding``."""
    case = standing.case(intent_id)
    intent, policy = case.intent, force.table.policy
    return gate.decide(
        gate.GateInput(
            effect=case.effect,
            may_speculate=case.judged.may_speculate and _sendable(case),
            block=intent.block,
            approved=may_have_happened(intent) or _approved(unfolding, case),
            earlier_terminal=not standing.waits(case, strict_writes=policy.write_order is WriteOrder.STRICT),
            may_run_ahead=policy.reads_behind_writes is ReadsBehindWrites.SEND,
            sent=_sent(intent),
            answer=_answer(unfolding, standing, case),
            paused=intent.retry_at is not None and intent.retry_at > unfolding.now,
            # What may have happened runs to its outcome, however the stream ended.
            stream_end=StreamEnd.OPEN if may_have_happened(intent) else stream_end(unfolding.state.finished),
            adoptable=adoptable(standing, force, case, unfolding.now) is not None,
            twin_lives=twin_lives(standing, case),
            budget_left=standing.early_beside(case) < policy.early_reads,
            # One that was let go stays so: on probation a tool rests again from the moment that its read is tried.
            speculation_stopped=intent.state is not IntentState.RELEASED
            and intent.tool in force.brakes.stopped,
        )
    )


def _approved(unfolding: Unfolding, case: Case) -> bool:
    return not repeats(unfolding.inherited, case) and approving.allowed(case, unfolding.now)


def _sendable(case: Case) -> bool:
    return case.judged.known and case.intent.problem is None and case.judged.fault is None


def _sent(intent: Intent) -> gate.Sent:
    if intent.state is IntentState.DISPATCHED:
        return gate.Sent.IN_FLIGHT
    if intent.state is IntentState.IN_DOUBT:
        return gate.Sent.IN_DOUBT
    return gate.Sent.ANSWERED if intent.state is IntentState.SETTLED else gate.Sent.NO


def may_have_happened(intent: Intent) -> bool:
    """Whether a dispatch of a call that is no read was lost: it is sent again with its key, or it is in doubt."""
    return not intent.certainly_unsent and intent.idempotency_key is not None


def _answer(unfolding: Unfolding, standing: Standing, case: Case) -> gate.Answer:
    intent = case.intent
    if case.effect is not EffectClass.READ_ONLY or intent.state is not IntentState.SETTLED:
        return gate.Answer.NONE
    if intent.result_status is ResultStatus.UNAVAILABLE and intent.answered_early:
        return gate.Answer.UNAVAILABLE_EARLY
    gone = answer_redacted(unfolding.state, intent)
    overtaken = standing.overtaken_by(case) is not None
    old = too_old(case, intent, unfolding.now)
    return gate.Answer.STALE if gone or overtaken or old else gate.Answer.FRESH


def _mark_stale(unfolding: Unfolding, standing: Standing) -> None:
    for intent_id in standing.living():
        case = standing.case(intent_id)
        intent = case.intent
        if intent.stale or intent.state is not IntentState.SETTLED:
            continue
        if _answer(unfolding, standing, case) is gate.Answer.STALE:
            because = standing.overtaken_by(case) or unfolding.state.seq
            _tell_of_answer(unfolding, EventType.INTENT_STALE, intent, because)


def _tell_of_answer(unfolding: Unfolding, type_: EventType, intent: Intent, because_seq: int | None) -> None:
    """Say something of the answer that the intent has: by which attempt it came, and whose that was if not its own."""
    if intent.adopted_from is None:
        unfolding.emit_for(type_, intent, attempt=intent.attempts, because_seq=because_seq)
        return
    body: dict[str, object] = {
        "intent_id": intent.intent_id,
        "attempt": intent.adopted_attempt,
        "from": intent.adopted_from,
        "because_seq": because_seq,
    }
    unfolding.emit(type_, body, branch=intent.branch, intent_id=intent.intent_id)


def _step(
    unfolding: Unfolding,
    force: TableInForce,
    standing: Standing,
    intent_id: str,
    *,
    only: gate.Action | None,
) -> None:
    case = standing.case(intent_id)
    intent = case.intent
    if intent.terminal:
        return
    decision = decide_now(unfolding, force, standing, intent_id)
    if only is not None and decision.action is not only:
        return
    if decision.action is gate.Action.FINALISE:
        _tell_of_answer(unfolding, EventType.INTENT_FINAL, intent, intent.settled_seq)
    elif decision.action is gate.Action.VOID:
        unfolding.emit_for(EventType.INTENT_VOIDED, intent, reason=decision.reason)
    elif _refused(unfolding, case, decision):
        return
    elif decision.action is gate.Action.ADOPT:
        source = adoptable(standing, force, case, unfolding.now)
        if source is not None:
            adopt(unfolding, intent, source)
    else:
        _release_or_hold(unfolding, force, case, decision)


def _refused(unfolding: Unfolding, case: Case, decision: gate.Decision) -> bool:
    """Refuse a cleared call that can never be sent: it does not parse, nobody knows its tool, or what went as a read
    would be sent again as something else."""
    intent, judged = case.intent, case.judged
    if intent.block is not BlockState.CLEARED:
        return False
    unsent = intent.state in (IntentState.HELD, IntentState.AWAITING_APPROVAL, IntentState.RELEASED)
    if unsent and may_have_happened(intent):
        # Another place has never seen its key.
        if judged.known and judged.footprint.upstream == intent.footprint.upstream:
            return False
        doubt_repetition(unfolding, intent)
        return True
    reason: str | None = None
    detail: dict[str, object] = {}
    if unsent and intent.problem is not None:
        reason = intent.problem
    elif unsent and not judged.known:
        reason = "unknown_tool"
    elif judged.fault is not None and (unsent or _sends(decision)):
        reason, detail = "arguments_refused", {"detail": asdict(judged.fault)}
    elif (intent.attempts or intent.adopted_from) and _sends(decision) and judged.effect > intent.effect:
        reason = "effect_raised"
    if reason is not None:
        body = {"intent_id": intent.intent_id, "reason": reason, **detail}
        unfolding.emit(EventType.INTENT_REFUSED, body, branch=intent.branch, intent_id=intent.intent_id)
    return reason is not None


def _sends(decision: gate.Decision) -> bool:
    return decision.action in (gate.Action.SEND, gate.Action.SEND_AGAIN)


def _release_or_hold(unfolding: Unfolding, force: TableInForce, case: Case, decision: gate.Decision) -> None:
    intent = case.intent
    moved = _moved(case)
    if decision.action in (gate.Action.SEND, gate.Action.SEND_AGAIN):
        released = intent.state is IntentState.RELEASED and intent.release is Release.COMMITTED
        if not released or moved:
            _release(unfolding, force, case, Release.COMMITTED)
    elif decision.action is gate.Action.SEND_EARLY:
        if intent.state is not IntentState.RELEASED or moved:
            _release(unfolding, force, case, Release.EARLY)
    elif decision.reason == approving.AWAITING and intent.block is BlockState.CLEARED:
        if intent.state is not IntentState.AWAITING_APPROVAL or approving.shown_otherwise(case):
            because = Because.FORK_REPEATS if repeats(unfolding.inherited, case) else None
            approving.ask(unfolding, force, case, because)
    elif decision.action is gate.Action.HOLD and intent.state is IntentState.RELEASED:
        hold_again(unfolding, intent, decision.reason)


def _moved(case: Case) -> bool:
    """Whether a release that was decided is about something else than the table says now."""
    intent = case.intent
    if case.effect > intent.effect or case.view.footprint != intent.footprint:
        return True
    return other_definition(intent.definition, case.judged.definition)


def doubt_repetition(unfolding: Unfolding, intent: Intent) -> None:
    """An earlier dispatch may have happened, and the call may not be sent again: from now on a person decides."""
    unfolding.emit_for(
        EventType.DISPATCH_IN_DOUBT, intent, attempt=intent.attempts, because="may_not_be_repeated"
    )


def hold_again(unfolding: Unfolding, intent: Intent, reason: str) -> None:
    """Let a call wait once more.

    The event says everything that the first one said: the database looks at the class in each of them.
    """
    body: dict[str, object] = {
        "intent_id": intent.intent_id,
        "reason": reason,
        "round": intent.round,
        "span": [intent.start, intent.end],
        "ordinal": intent.ordinal,
        "block_ordinal": intent.block_ordinal,
        "byte_start": intent.byte_start,
        "byte_end": intent.byte_end,
        "closed_seq": intent.closed_seq,
        "tool": intent.tool,
        "arguments_raw": intent.arguments_raw,
        "arguments_digest": intent.arguments_digest,
        "problem": intent.problem,
        "call_id": intent.call_id,
        "effect": intent.effect.value,
        "effect_version": intent.effect_version,
        "footprint": intent.footprint.to_json(),
    }
    if intent.asked_because is not None:
        body["approval"] = intent.asked_because
    unfolding.emit(EventType.INTENT_HELD, body, branch=intent.branch, intent_id=intent.intent_id)


def _release(unfolding: Unfolding, force: TableInForce, case: Case, release: Release) -> None:
    intent = case.intent
    unfolding.emit_for(
        EventType.INTENT_RELEASED,
        intent,
        release=release.value,
        effect=case.effect.value,
        effect_version=force.version,
        footprint=case.view.footprint.to_json(),
        definition=case.judged.definition,
        idempotency_key=_key(unfolding, intent) if case.effect is not EffectClass.READ_ONLY else None,
    )


def _key(unfolding: Unfolding, intent: Intent) -> str:
    if intent.idempotency_key is not None:
        return intent.idempotency_key
    accepted = unfolding.branch(intent.branch).text.encode()[: intent.byte_end]
    return idempotency_key(
        tenant=unfolding.state.tenant,
        commit_key=unfolding.state.commit_key,
        branch=intent.branch,
        byte_start=intent.byte_start,
        ordinal=intent.block_ordinal,
        block_sha256=hashlib.sha256(accepted).hexdigest(),
        tool=intent.tool or "",
        arguments=canonical(parse(intent.arguments_raw or "{}")),
    )
