"""Examining one stream: every check over one case. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from ledger.reconcile import accepted, freshness, outside, sending
from ledger.reconcile.case import Case, case_of
from ledger.reconcile.evidence import DispatchRow, Evidence, FindBlocks, LogEntry
from ledger.reconcile.finding import Finding

__all__ = ["GRACE", "DispatchRow", "Evidence", "Examined", "LogEntry", "examine"]

GRACE = timedelta(minutes=15)
"""How long a stream must have been quiet before what was not sent counts as lost (longer than ``idle_timeout``)."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What came of one stream. ``matched_lines``: entries of the tool's log that belong to its intents."""

    case: Case
    findings: tuple[Finding, ...]
    matched_lines: frozenset[int]


def examine(
    evidence: Evidence,
    *,
    now: datetime,
    grace: timedelta = GRACE,
    find_blocks: FindBlocks | None = None,
    complete: outside.Complete = lambda _tool: False,
) -> Examined:
    """Hold dispatches, accepted tokens and the tool's log against each other.

    ``evidence``: all there is about one stream. ``now``: aware. ``find_blocks``: how calls are spelled; without it
    blocks that were never held go unseen, and arguments are only looked for in the block's bytes. ``complete``: whether
    the log holds everything that a tool was asked. Entries of the log that name no intent of this stream are left to
    the caller. Findings come in the order of their seq.
    """
    case = case_of(evidence, now=now, grace=grace, find_blocks=find_blocks)
    matched = outside.log_by_intent(case)
    checks = (
        sending.orphans(case),
        sending.duplicates(case),
        sending.doubts(case),
        sending.late(case),
        sending.divergences(case),
        accepted.lost(case),
        accepted.mismatches(case),
        freshness.stale_finals(case),
        outside.log_findings(case, matched),
        outside.missing(case, matched, complete),
    )
    unreadable = () if case.unreadable is None else (case.unreadable,)
    found = sorted(chain(unreadable, *checks), key=lambda f: (f.seq or 0, f.kind.value))
    lines = frozenset(entry.line for entries in matched.values() for entry in entries)
    return Examined(case, tuple(found), lines)
