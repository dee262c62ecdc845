"""Counts over everything that was examined. Wasted early reads are counted here; they are no findings."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from effects.classes import EffectClass
from effects.intent import Release
from ledger.events import EventType
from ledger.reconcile.case import Case
from ledger.reconcile.finding import Finding
from ledger.reconcile.trail import Attempt, Trail, body_of


@dataclass(slots=True)
class Summary:
    """``dispatches``: attempts. ``early_*``: reads sent on drafts, by what became of their answer: final, thrown away,
    overtaken and asked for again, or thrown away with its call and adopted by another.
    ``writes``, ``idempotent_calls``: intents that may have been sent. ``paused``: accepted
    calls that wait because their tool is paused. ``log_entries``: lines of the tool's log that were held against.
    ``findings``: number of each kind that was found.
    """

    streams: int = 0
    unfinished: int = 0
    dispatches: int = 0
    early_used: int = 0
    early_wasted: int = 0
    early_stale: int = 0
    early_adopted: int = 0
    writes: int = 0
    idempotent_calls: int = 0
    blocks_cleared: int = 0
    blocks_voided: int = 0
    paused: int = 0
    log_entries: int = 0
    findings: Counter[str] = field(default_factory=Counter)

    def add_stream(self, case: Case) -> None:
        """Count one examined stream."""
        self.streams += 1
        self.unfinished += not any(e.type is EventType.STREAM_FINISHED for e in case.evidence.events)
        self.blocks_cleared += len(set(_blocks(case, EventType.BLOCK_CLEARED)))
        self.blocks_voided += len(set(_blocks(case, EventType.BLOCK_VOIDED)))
        adopted = {(source.intent_id, attempt) for source, attempt in adoptions(case)}
        for trail in case.trails.values():
            self._add_intent(trail, adopted)

    def add_finding(self, finding: Finding) -> None:
        """Count one finding."""
        self.findings[finding.kind.value] += 1

    def to_json(self) -> dict[str, Any]:
        """The counts, early reads and findings as objects of their own."""
        return {
            "streams": self.streams,
            "unfinished": self.unfinished,
            "dispatches": self.dispatches,
            "early_reads": {
                "used": self.early_used,
                "wasted": self.early_wasted,
                "stale": self.early_stale,
                "adopted": self.early_adopted,
            },
            "writes": self.writes,
            "idempotent_calls": self.idempotent_calls,
            "blocks": {"cleared": self.blocks_cleared, "voided": self.blocks_voided},
            "paused": self.paused,
            "log_entries": self.log_entries,
            "findings": dict(sorted(self.findings.items())),
        }

    def _add_intent(self, trail: Trail, adopted: Collection[tuple[str, int]]) -> None:
        attempts = [attempt for attempt in trail.ordered_attempts() if not attempt.lost]
        self.dispatches += len(attempts)
        sent = [attempt.effect for attempt in attempts if not attempt.unsent]
        self.writes += EffectClass.WRITE in sent
        self.idempotent_calls += EffectClass.IDEMPOTENT in sent and EffectClass.WRITE not in sent
        early = [attempt for attempt in attempts if _is_early(trail, attempt)]
        final = next(trail.of(EventType.INTENT_FINAL), None)
        stale = {event.attempt for event in trail.of(EventType.INTENT_STALE)}
        for attempt in early:
            if final is not None and final.attempt == attempt.number:
                self.early_used += 1
            elif attempt.number in stale:
                self.early_stale += 1
            elif (trail.intent_id, attempt.number) in adopted:
                self.early_adopted += 1
            elif trail.standing().over or attempt is not attempts[-1]:
                self.early_wasted += 1


def _is_early(trail: Trail, attempt: Attempt) -> bool:
    if attempt.started is None:
        return False
    said = body_of(attempt.started).get("release")
    if said is None:
        released = [e for e in trail.of(EventType.INTENT_RELEASED) if e.seq < attempt.started_seq]
        said = body_of(released[-1]).get("release") if released else None
    return bool(said == Release.EARLY.value)


def adoptions(case: Case) -> Iterator[tuple[Trail, int]]:
    """Every dispatch that another intent has adopted: the intent that was sent, and the attempt."""
    for event in case.evidence.events:
        if event.type is EventType.INTENT_ADOPTED:
            source = case.trails.get(str(body_of(event).get("from")))
            attempt = body_of(event).get("attempt")
            if source is not None and isinstance(attempt, int):
                yield source, attempt


def _blocks(case: Case, decided: EventType) -> Iterator[tuple[str | None, str, object]]:
    for event in case.evidence.events:
        if event.type is decided:
            body = body_of(event)
            yield event.branch, str(body.get("span")), body.get("round")
