"""What was sent: held against acceptance, against the promise of once, and event against row."""

from collections.abc import Iterator

from effects.classes import EffectClass
from ledger.events import EventType
from ledger.reconcile.case import Case
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.trail import Attempt, Trail, body_of


def orphans(case: Case) -> Iterator[Finding]:
    """Non-reads sent before, or without, the acceptance of every token that asked for them."""
    if case.accepted is None:
        return
    for trail, attempt in case.sendings():
        if _effect(trail, attempt) is EffectClass.READ_ONLY or attempt.unsent:
            continue
        accepted = case.accepted_seq(trail)
        if accepted is not None and accepted < attempt.started_seq:
            continue
        why = f"attempt {attempt.number} was sent at seq {attempt.started_seq}, and its block "
        if trail.held is None:
            why += "is not recorded"
        elif accepted is None:
            why += f"[{trail.span[0]}, {trail.span[1]}) is not accepted"
        else:
            why += f"was accepted at seq {accepted} only"
        yield case.finding(FindingKind.ORPHAN_EFFECT, trail, why, seq=attempt.started_seq)


def duplicates(case: Case) -> Iterator[Finding]:
    """WRITEs with more than one dispatch that is not recorded as certainly unsent."""
    for trail in case.trails.values():
        sent = [a for a in trail.ordered_attempts() if not a.unsent]
        if len(sent) > 1 and any(_effect(trail, a) is EffectClass.WRITE for a in sent if not a.lost):
            numbers = ", ".join(str(a.number) for a in sent)
            why = f"attempts {numbers} of a WRITE may all have been sent"
            yield case.finding(FindingKind.DUPLICATE, trail, why, seq=sent[-1].started_seq)


def doubts(case: Case) -> Iterator[Finding]:
    """Open doubts; and non-reads whose lease ran out longer than the grace time ago, and nobody took note."""
    for trail in case.trails.values():
        now = trail.standing()
        if now.doubt_seq is not None:
            why = "it may or may not have happened; nobody has resolved it"
            yield case.finding(FindingKind.IN_DOUBT, trail, why, seq=now.doubt_seq)
        elif now.open_attempt is not None and now.effect is not EffectClass.READ_ONLY:
            row = trail.attempts[now.open_attempt].row
            if row is not None and row.lease_until + case.grace < case.now:
                why = f"attempt {row.attempt} has no outcome, and its lease ended at {row.lease_until.isoformat()}"
                yield case.finding(FindingKind.IN_DOUBT, trail, why, seq=row.started_seq)


def late(case: Case) -> Iterator[Finding]:
    """Outcomes that came in after a person had resolved the doubt."""
    for trail in case.trails.values():
        resolved = next(trail.of(EventType.DISPATCH_RESOLVED), None)
        if resolved is None:
            continue
        for event in trail.of(EventType.DISPATCH_LATE):
            if event.seq > resolved.seq:
                said, came = body_of(resolved).get("status"), body_of(event).get("status")
                why = f"resolved as {said} at seq {resolved.seq}; {came} came in at seq {event.seq}"
                yield case.finding(FindingKind.LATE_EVIDENCE, trail, why, seq=event.seq)


def divergences(case: Case) -> Iterator[Finding]:
    """Dispatches that events and rows tell differently, and answers that no dispatch brought."""
    for trail, attempt in case.sendings():
        why = _difference(trail, attempt)
        if why is not None:
            detail = f"attempt {attempt.number}: {why}"
            yield case.finding(FindingKind.KEY_DIVERGENCE, trail, detail, seq=attempt.started_seq or None)
    for trail in case.trails.values():
        final = next(trail.of(EventType.INTENT_FINAL), None)
        if final is not None and not trail.attempts and trail.standing().adopted is None:
            why = "it has a final answer, and no dispatch is recorded"
            yield case.finding(FindingKind.KEY_DIVERGENCE, trail, why, seq=final.seq)


def _difference(trail: Trail, attempt: Attempt) -> str | None:
    started, row = attempt.started, attempt.row
    if started is None and row is None:
        return "an outcome is recorded, and no dispatch"
    if started is None:
        return "a dispatch row without its dispatch.started"
    if row is None:
        return "a dispatch.started without its dispatch row"
    told = (
        ("seq", started.seq, row.started_seq),
        ("branch", started.branch, row.branch),
        ("effect", body_of(started).get("effect", row.effect), row.effect),
        ("unsent", attempt.unsent, row.unsent),
    )
    for name, event_says, row_says in told:
        if event_says != row_says:
            return f"{name} is {event_says} in its events and {row_says} in its row"
    return "it was sent under an intent that was never held" if trail.held is None else None


def _effect(trail: Trail, attempt: Attempt) -> EffectClass:
    """The class of a dispatch, the intent's own class counted where it was held higher before."""
    before = trail.standing(attempt.started_seq + 1).effect
    return attempt.effect if attempt.effect >= before else before
