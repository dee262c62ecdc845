"""What was answered: no final answer of a read missed an earlier call (design.md, "Order, freshness, finality", rule 2)."""

from collections.abc import Iterator

from effects.classes import EffectClass
from effects.order import CallView, earlier_terminal, overtaken_by
from ledger.events import Event, EventType
from ledger.reconcile.case import Case
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.trail import Trail


def stale_finals(case: Case) -> Iterator[Finding]:
    """Reads made final that were sent before an earlier conflicting non-read was settled, or while one was not over.

    Where one of two calls is redacted nobody can say any more whether they conflict.
    """
    for trail in case.trails.values():
        final = next(trail.of(EventType.INTENT_FINAL), None)
        if final is None or trail.redacted or trail.standing(final.seq).effect is not EffectClass.READ_ONLY:
            continue
        why = _missed(case, trail, final)
        if why is not None:
            yield case.finding(FindingKind.STALE_READ_FINAL, trail, why, seq=final.seq)


def _missed(case: Case, trail: Trail, final: Event) -> str | None:
    sent = _dispatched_seq(trail, final)
    if sent is None:
        return None
    read = trail.view(final.seq, dispatched_seq=sent)
    # Everything is seen as it stood when the answer was made final: what came later does not unmake it (rule 3).
    others: list[CallView] = [o.view(final.seq) for o in case.others(trail) if not o.redacted]
    missed = overtaken_by(read, others)
    if missed is not None:
        return (
            f"its answer was asked for at seq {sent}, before a conflicting call was settled at seq {missed}"
        )
    if not earlier_terminal(read, others, strict_writes=True):
        return f"it was made final at seq {final.seq}, and a conflicting call before it was not over"
    return None


def _dispatched_seq(trail: Trail, final: Event) -> int | None:
    now = trail.standing(final.seq)
    own = None if final.attempt is None else trail.attempts.get(final.attempt)
    # An adopted answer is as old as the dispatch that brought it.
    attempt = own if now.adopted is None else now.adopted
    return attempt.started_seq if attempt is not None and attempt.started_seq else now.dispatched_seq
