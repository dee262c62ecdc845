"""The gate over every combination of what it looks at, against the rule said once more, independently (design.md)."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import pytest

from effects.classes import EffectClass
from effects.errors import SpeculativeEffectViolation
from effects.gate import Action, Answer, Decision, GateInput, Sent, decide
from effects.intent import BlockState, StreamEnd

BOTH = (True, False)
SENDING = {Action.SEND, Action.SEND_EARLY, Action.SEND_AGAIN}
Gate = Callable[[GateInput], Decision]


def every_input() -> Iterator[GateInput]:
    axes = product(
        EffectClass,
        BOTH,
        BlockState,
        BOTH,
        BOTH,
        BOTH,
        BOTH,
        BOTH,
        Sent,
        Answer,
        BOTH,
        StreamEnd,
        BOTH,
        (None, 0.1),
    )
    for row in axes:
        (effect, speculate, block, attributable, agreed, approved, earlier, ahead) = row[:8]
        sent, answer, paused, end, budget, survival = row[8:]
        if answer is not Answer.NONE and (sent is not Sent.ANSWERED or effect is not EffectClass.READ_ONLY):
            continue
        if answer is Answer.NONE and sent is Sent.ANSWERED and effect is EffectClass.READ_ONLY:
            continue
        call = GateInput(
            effect, speculate, block, attributable, agreed, approved, earlier, ahead, sent, answer, paused, end, budget,
            survival, 0.5,
        )  # fmt: skip
        yield call
        if effect is EffectClass.READ_ONLY and sent is Sent.NO:
            for adoptable, twin in ((True, False), (False, True), (True, True)):
                yield replace(call, adoptable=adoptable, twin_lives=twin)
            yield replace(call, speculation_stopped=True)


def breaches(call: GateInput, gate: Gate) -> list[str]:
    """Which clauses of the rule the gate's answer to ``call`` breaks; none for a right gate."""
    read = call.effect is EffectClass.READ_ONLY
    impossible = not read and call.sent is not Sent.NO and call.block is not BlockState.CLEARED
    try:
        action = gate(call).action
    except SpeculativeEffectViolation:
        return [] if impossible else ["raised without cause"]
    cleared = call.block is BlockState.CLEARED
    unsent = call.sent is Sent.NO
    on_drafts = (
        call.may_speculate
        and call.block is BlockState.UNDECIDED
        and call.stream_end is StreamEnd.OPEN
        and (call.earlier_terminal or call.may_run_ahead)
    )
    may_go = call.approved and not call.paused and call.stream_end is not StreamEnd.ABORTED
    clauses = {
        "an effect of undecided tokens went unnoticed": not impossible,
        "whole: a voided block is void": action is Action.VOID or call.block is not BlockState.VOIDED,
        "decided: a non-read is sent on a cleared block only": read or action not in SENDING or cleared,
        "attributable": action not in {Action.SEND, Action.SEND_AGAIN} or call.attributable,
        "agreed: non-reads only": read or action not in SENDING or call.agreed,
        "approved, not paused, stream not aborted": action not in SENDING or may_go,
        "order: nothing committed overtakes": action not in {Action.SEND, Action.SEND_AGAIN}
        or call.earlier_terminal,
        "once: what was sent is not sent anew": action not in {Action.SEND, Action.SEND_EARLY} or unsent,
        "only stale or unavailable reads are sent again": action is not Action.SEND_AGAIN
        or (read and call.answer in {Answer.STALE, Answer.UNAVAILABLE_EARLY}),
        "early: a speculating read of an undecided block on an open stream": action is not Action.SEND_EARLY
        or (
            read
            and call.may_speculate
            and call.block is BlockState.UNDECIDED
            and call.stream_end is StreamEnd.OPEN
            and (call.earlier_terminal or call.may_run_ahead)
            and call.budget_left
            and not call.speculation_stopped
            and call.predicted_survival is None
        ),
        "final: cleared and answered": action is not Action.FINALISE
        or (cleared and call.sent is Sent.ANSWERED),
        "final read: attributable, in order, fresh": action is not Action.FINALISE
        or not read
        or (call.attributable and call.earlier_terminal and call.answer is Answer.FRESH),
        "a settled non-read is final at once": read
        or call.sent is not Sent.ANSWERED
        or not cleared
        or action is Action.FINALISE,
        "nothing void is cleared and alive": action is not Action.VOID
        or not cleared
        or call.stream_end is StreamEnd.ABORTED,
        "live: a cleared call with nothing in its way goes": not (
            cleared
            and unsent
            and may_go
            and call.attributable
            and (call.agreed or read)
            and call.earlier_terminal
            and action is not (Action.ADOPT if call.adoptable else Action.SEND)
        ),
        "live: an undecided speculating read with nothing in its way goes": not (
            read
            and call.may_speculate
            and call.block is BlockState.UNDECIDED
            and unsent
            and may_go
            and call.stream_end is StreamEnd.OPEN
            and (call.earlier_terminal or call.may_run_ahead)
            and call.budget_left
            and not call.speculation_stopped
            and call.predicted_survival is None
            and not call.twin_lives
            and action is not (Action.ADOPT if call.adoptable else Action.SEND_EARLY)
        ),
        "adopted: an unsent read, where it might be sent itself": action is not Action.ADOPT
        or (
            read
            and unsent
            and call.adoptable
            and call.approved
            and call.stream_end is not StreamEnd.ABORTED
            and (on_drafts or (cleared and call.attributable and call.earlier_terminal))
        ),
        "adopted, where that is possible, instead of sent": not call.adoptable
        or action not in {Action.SEND, Action.SEND_EARLY},
        "no second early send beside a living twin": action is not Action.SEND_EARLY or not call.twin_lives,
        "ended: undecided blocks are void": action is Action.VOID
        or call.block is not BlockState.UNDECIDED
        or call.stream_end is StreamEnd.OPEN,
    }
    return [name for name, kept in clauses.items() if not kept]


def test_every_combination_keeps_the_rule() -> None:
    actions: Counter[Action] = Counter()
    seen = 0
    for call in every_input():
        seen += 1
        assert breaches(call, decide) == [], call
        try:
            actions[decide(call).action] += 1
        except SpeculativeEffectViolation:
            continue
    assert seen > 60_000
    assert set(actions) == set(Action)


def _eager(call: GateInput) -> Decision:
    if call.block is BlockState.UNDECIDED and call.sent is Sent.NO:
        return Decision(Action.SEND_EARLY, "eager")
    return decide(call)


def _careless_of(field: str) -> Gate:
    def gate(call: GateInput) -> Decision:
        return decide(replace(call, **{field: True}))

    return gate


def _never_stale(call: GateInput) -> Decision:
    return decide(replace(call, answer=Answer.FRESH) if call.answer is Answer.STALE else call)


def _deaf_to(field: str) -> Gate:
    def gate(call: GateInput) -> Decision:
        return decide(replace(call, **{field: False}))

    return gate


def _adopting_anything(call: GateInput) -> Decision:
    return Decision(Action.ADOPT, "adoptable") if call.adoptable else decide(call)


@pytest.mark.parametrize(
    "gate",
    [
        _deaf_to("adoptable"),
        _deaf_to("twin_lives"),
        _adopting_anything,
        _eager,
        _careless_of("attributable"),
        _careless_of("agreed"),
        _careless_of("approved"),
        _careless_of("earlier_terminal"),
        _careless_of("may_speculate"),
        _careless_of("budget_left"),
        _careless_of("may_run_ahead"),
        _never_stale,
    ],
)
def test_a_gate_that_forgets_one_clause_is_found_out(gate: Gate) -> None:
    assert any(breaches(call, gate) for call in every_input())


@pytest.mark.parametrize("effect", [EffectClass.WRITE, EffectClass.IDEMPOTENT])
@pytest.mark.parametrize("block", [BlockState.UNDECIDED, BlockState.VOIDED])
def test_a_non_read_sent_without_clearance_is_a_violation(effect: EffectClass, block: BlockState) -> None:
    with pytest.raises(SpeculativeEffectViolation) as raised:
        decide(GateInput(effect, may_speculate=False, block=block, sent=Sent.IN_FLIGHT))
    assert raised.value.code == "speculative_effect_violation"
