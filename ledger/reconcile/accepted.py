"""What was accepted: every call of it is over, on its way, or waits for something; and says what its tokens say."""

from collections.abc import Iterator

from effects.classes import EffectClass
from effects.intent import StreamEnd
from effects.order import earlier_terminal
from ledger.events import EventType
from ledger.reconcile.acceptance import AcceptedBranch
from ledger.reconcile.case import Case, SpelledCall
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.trail import ENDS, Trail, body_of


def lost(case: Case) -> Iterator[Finding]:
    """Accepted calls that nothing stands in the way of, and that nobody sent, or sent and left without an outcome.

    A call that waits for approval, or behind another one that does, is in flight or in doubt, is not lost. A voided intent
    is lost too where all its tokens are accepted after all.
    """
    if not case.over:
        return
    for trail in case.trails.values():
        accepted = case.accepted_seq(trail)
        if accepted is not None and _is_lost(case, trail):
            yield case.finding(FindingKind.LOST_EFFECT, trail, _why_lost(trail), seq=accepted)
    if case.source == "detected":
        yield from _never_held(case)


def mismatches(case: Case) -> Iterator[Finding]:
    """Accepted calls whose recorded tool or arguments are not what the accepted tokens spell in their place.

    Where either is redacted there is nothing to compare.
    """
    for trail in case.trails.values():
        if case.accepted_seq(trail) is None or not case.is_readable(trail):
            continue
        why = _differs(case, trail) or _sent_other(trail)
        if why is not None:
            seq = trail.held.seq if trail.held is not None else None
            yield case.finding(FindingKind.ARGUMENT_MISMATCH, trail, why, seq=seq)


def _is_lost(case: Case, trail: Trail) -> bool:
    now = trail.standing()
    if now.over:
        # Refused, denied and final calls are over for good; only voiding can contradict the tokens.
        return _was_voided(trail) and case.end is StreamEnd.COMPLETED
    if (
        now.exposed
        or now.awaiting
        or (now.settled_seq is not None and now.effect is not EffectClass.READ_ONLY)
    ):
        return False
    standing = ((other, other.standing()) for other in case.others(trail))
    waited_for = [other.view() for other, stands in standing if stands.exposed or stands.awaiting]
    return earlier_terminal(trail.view(), waited_for, strict_writes=True)


def _was_voided(trail: Trail) -> bool:
    ends = trail.of(*ENDS)
    return {event.type for event in ends} == {EventType.INTENT_VOIDED}


def _why_lost(trail: Trail) -> str:
    now, sent = trail.standing(), len(trail.attempts)
    if now.over:
        return "it was voided, and every token of its block is accepted"
    what = f"{now.effect.value}, accepted, "
    return what + (
        "never sent" if sent == 0 else f"sent {sent} times, has no final answer, is not sent again"
    )


def _never_held(case: Case) -> Iterator[Finding]:
    for (branch, start, ordinal), spelled in (case.spelled or {}).items():
        held = any(
            (t.branch, t.span[0], t.ordinal) == (branch, start, ordinal) and case.accepted_seq(t) is not None
            for t in case.trails.values()
        )
        if not held:
            why = f"the accepted tokens [{start}, {spelled.end}) of {branch} spell a call that was never held"
            yield case.finding(
                FindingKind.LOST_EFFECT, None, why, seq=spelled.accepted_seq, tool=spelled.call.tool
            )


def _differs(case: Case, trail: Trail) -> str | None:
    if case.spelled is None:
        return _not_within(case, trail)
    spelled = case.spelled.get((trail.branch, trail.span[0], trail.ordinal))
    if spelled is None or spelled.end != trail.span[1]:
        return f"the accepted tokens spell no call at [{trail.span[0]}, {trail.span[1]})"
    return _other_call(trail, spelled)


def _other_call(trail: Trail, spelled: SpelledCall) -> str | None:
    if spelled.call.tool != trail.tool:
        return f"the accepted tokens spell the tool {spelled.call.tool!r}, held is {trail.tool!r}"
    if spelled.call.arguments_raw != trail.arguments_raw:
        return "the accepted tokens spell other arguments than those held"
    return None


def _not_within(case: Case, trail: Trail) -> str | None:
    """Without a detector: the arguments, as they are sent, have to stand within the block's accepted bytes, unless a detector
    built them."""
    branch = (case.accepted or {}).get(trail.branch)
    if branch is None or trail.arguments_raw is None or trail.arguments_built:
        return None
    start, end = trail.byte_span
    if trail.arguments_raw.encode() in _bytes_of(branch, trail):
        return None
    return f"the accepted bytes [{start}, {end}) do not spell the arguments held"


def _bytes_of(branch: AcceptedBranch, trail: Trail) -> bytes:
    """Those of its block; where texts before it are gone bytes cannot be counted, and whole tokens have to do."""
    if branch.is_readable(0, trail.span[1]):
        start, end = trail.byte_span
        return branch.text[start:end]
    return "".join(token.text for token in branch.tokens[slice(*trail.span)]).encode()


def _sent_other(trail: Trail) -> str | None:
    for attempt in trail.ordered_attempts():
        said = {} if attempt.started is None else body_of(attempt.started)
        if said.get("arguments_raw", trail.arguments_raw) != trail.arguments_raw:
            return f"attempt {attempt.number} was sent with other arguments than those held"
    return None
