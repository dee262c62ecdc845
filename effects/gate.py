"""The gate: may this call go, may its answer be given? One pure function (design.md, "The rule").

An effect may be observed in the world only after the acceptance of every token that asked for it is decided, whole,
attributable and agreed, under one commit key. Exactly one exemption: a READ_ONLY call that may speculate is sent before,
and its answer stays provisional. Nothing else in the system decides that a call may go.
"""

from dataclasses import dataclass
from enum import StrEnum

from effects.classes import EffectClass
from effects.errors import SpeculativeEffectViolation
from effects.intent import BlockState, StreamEnd


class Sent(StrEnum):
    """How far the call's latest dispatch has come."""

    NO = "no"
    IN_FLIGHT = "in_flight"
    ANSWERED = "answered"
    IN_DOUBT = "in_doubt"


class Answer(StrEnum):
    """What the answer of an answered read is worth now (``NONE``: there is none, or the call is not a read)."""

    NONE = "none"
    FRESH = "fresh"
    STALE = "stale"
    UNAVAILABLE_EARLY = "unavailable_early"


class Action(StrEnum):
    """What is to be done with a call."""

    HOLD = "hold"
    SEND_EARLY = "send_early"
    SEND = "send"
    SEND_AGAIN = "send_again"
    ADOPT = "adopt"
    WAIT = "wait"
    FINALISE = "finalise"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class GateInput:
    """All that the gate looks at.

    ``effect``: the higher of the classes at creation and now. ``earlier_terminal``: the order rule of the call's class is
    met (``effects.order.earlier_terminal``). ``may_run_ahead``: policy ``reads_behind_writes: send``. ``budget_left``:
    another early read may be outstanding. ``speculation_stopped``: most early reads of the tool were wasted lately.
    ``predicted_survival``: probability that the block's drafts are accepted, None where nobody predicts; an early read below
    ``survival_floor`` is not worth sending. ``adoptable``: a voided early read of the same commit key asked the same, and
    what came of it, or will come, is fresh for this one. ``twin_lives``: a read that asks the same was let go and is not
    over.
    """

    effect: EffectClass
    may_speculate: bool
    block: BlockState
    attributable: bool = True
    agreed: bool = True
    approved: bool = True
    earlier_terminal: bool = True
    may_run_ahead: bool = False
    sent: Sent = Sent.NO
    answer: Answer = Answer.NONE
    paused: bool = False
    stream_end: StreamEnd = StreamEnd.OPEN
    budget_left: bool = True
    predicted_survival: float | None = None
    survival_floor: float = 0.0
    adoptable: bool = False
    twin_lives: bool = False
    speculation_stopped: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """An action and the stable code of its reason."""

    action: Action
    reason: str


def decide(call: GateInput) -> Decision:
    """Decide about one call.

    Raises ``SpeculativeEffectViolation`` where the input itself shows the rule broken: a call that is not READ_ONLY has
    been sent although its block is not cleared.
    """
    is_read = call.effect is EffectClass.READ_ONLY
    if not is_read and call.sent is not Sent.NO and call.block is not BlockState.CLEARED:
        raise SpeculativeEffectViolation(
            f"a {call.effect} call was dispatched while its block is {call.block}; "
            "only cleared blocks may have effects"
        )
    if call.block is BlockState.VOIDED:
        return Decision(Action.VOID, "block_voided")
    if call.block is BlockState.UNDECIDED and call.stream_end is not StreamEnd.OPEN:
        return Decision(Action.VOID, "stream_ended_undecided")
    if call.sent is Sent.IN_FLIGHT:
        return Decision(Action.WAIT, "in_flight")
    if call.sent is Sent.IN_DOUBT:
        return Decision(Action.WAIT, "in_doubt")
    if call.sent is Sent.ANSWERED:
        return _deliver_read(call) if is_read else Decision(Action.FINALISE, "settled")
    if call.stream_end is StreamEnd.ABORTED:
        return Decision(Action.VOID, "stream_aborted")
    if call.block is BlockState.CLEARED:
        return _send_cleared(call, is_read=is_read)
    return _send_undecided(call, is_read=is_read)


def _deliver_read(call: GateInput) -> Decision:
    if call.block is BlockState.UNDECIDED:
        return Decision(Action.WAIT, "undecided")
    if not call.attributable:
        return Decision(Action.WAIT, "unattributable")
    if not call.earlier_terminal:
        return Decision(Action.WAIT, "earlier_calls")
    if call.answer is Answer.FRESH:
        return Decision(Action.FINALISE, "fresh")
    if call.stream_end is StreamEnd.ABORTED:
        return Decision(Action.VOID, "stream_aborted")
    if not call.approved:
        return Decision(Action.WAIT, "awaiting_approval")
    if call.paused:
        return Decision(Action.WAIT, "paused")
    return Decision(Action.SEND_AGAIN, call.answer.value)


def _send_cleared(call: GateInput, *, is_read: bool) -> Decision:
    if not call.attributable:
        return Decision(Action.HOLD, "unattributable")
    if not call.agreed and not is_read:
        return Decision(Action.HOLD, "not_agreed")
    if not call.approved:
        return Decision(Action.HOLD, "awaiting_approval")
    if not call.earlier_terminal:
        return Decision(Action.HOLD, "earlier_calls")
    if is_read and call.adoptable:
        return Decision(Action.ADOPT, "adoptable")
    if call.paused:
        return Decision(Action.HOLD, "paused")
    return Decision(Action.SEND, "cleared")


def _send_undecided(call: GateInput, *, is_read: bool) -> Decision:
    if not is_read:
        return Decision(Action.HOLD, "undecided")
    if not call.may_speculate:
        return Decision(Action.HOLD, "may_not_speculate")
    if not call.approved:
        return Decision(Action.HOLD, "awaiting_approval")
    if not call.earlier_terminal and not call.may_run_ahead:
        return Decision(Action.HOLD, "earlier_calls")
    if call.adoptable:
        return Decision(Action.ADOPT, "adoptable")
    if call.paused:
        return Decision(Action.HOLD, "paused")
    if call.twin_lives:
        return Decision(Action.HOLD, "twin_lives")
    return _speculate(call)


def _speculate(call: GateInput) -> Decision:
    """Whether an early read that may go is worth it."""
    if call.speculation_stopped:
        return Decision(Action.HOLD, "speculation_stopped")
    if not call.budget_left:
        return Decision(Action.HOLD, "budget_spent")
    if call.predicted_survival is not None and call.predicted_survival < call.survival_floor:
        return Decision(Action.HOLD, "unlikely_to_survive")
    return Decision(Action.SEND_EARLY, "may_speculate")
