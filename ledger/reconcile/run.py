"""Reconciling a ledger: every stream in scope, then what is left of the tool's log."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy import Engine

from ledger.reconcile.cursor import cursor_after, read_cursor
from ledger.reconcile.evidence import Evidence, FindBlocks, LogEntry
from ledger.reconcile.examine import GRACE, examine
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.leftovers import leftover_findings
from ledger.reconcile.summary import Summary
from ledger.reconcile.toollog import ToolLog
from ledger.reconcile.trail import trails
from ledger.reconcile.walk import Scope, Walk
from ledger.sharding import StreamName


@dataclass(frozen=True, slots=True)
class Options:
    """What to reconcile. ``since``, ``until``: streams with an event in [since, until); aware. ``after``: cursor of an
    earlier run with the same scope, to go on behind. ``grace``: how long a stream must have been quiet before what was
    not sent counts as lost. ``page``: stream names that are read at once.
    """

    since: datetime | None = None
    until: datetime | None = None
    commit_key: str | None = None
    after: str | None = None
    grace: timedelta = GRACE
    page: int = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come: counts so far, and the cursor behind the stream just examined."""

    summary: Summary
    cursor: str


@dataclass(slots=True)
class Reconciliation:
    """A run. Nothing is read until ``findings`` is gone through; it gives each finding as soon as it is known.

    ``summary`` grows on the way and is whole once ``findings`` ends. ``cursor``: behind the last stream examined, None
    before the first; a run broken off goes on from there. Memory: one stream at a time.
    """

    findings: Iterator[Finding] = field(default_factory=lambda: iter(()))
    summary: Summary = field(default_factory=Summary)
    cursor: str | None = None


def run(
    engine: Engine,
    tenant: str | None,
    options: Options,
    *,
    now: datetime,
    find_blocks: FindBlocks | None = None,
    tool_log: ToolLog | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Reconciliation:
    """Hold what was sent, what was accepted and, if given, what the tools logged against each other. Reads only.

    ``tenant`` None: all tenants. ``now``: aware; the grace time counts back from it. ``find_blocks``: see
    ``ledger.reconcile.evidence``. ``tool_log`` has to stay open until the findings are through. ``progress`` is called
    after every stream. The same ledger gives the same findings, however often it is asked. Raises ``BadCursor``; while
    findings are gone through ``LedgerUnavailable``.
    """
    scope = Scope(tenant, options.commit_key, options.since, options.until)
    reconciliation = Reconciliation(cursor=options.after)
    running = _Run(
        walk=Walk(engine, scope, page=options.page),
        scope=scope,
        options=options,
        now=now,
        find_blocks=find_blocks,
        tool_log=tool_log,
        progress=progress,
        reconciliation=reconciliation,
    )
    reconciliation.findings = running.findings(read_cursor(options.after))
    return reconciliation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    walk: Walk
    scope: Scope
    options: Options
    now: datetime
    find_blocks: FindBlocks | None
    tool_log: ToolLog | None
    progress: Callable[[Progress], None] | None
    reconciliation: Reconciliation

    def findings(self, start: StreamName) -> Iterator[Finding]:
        summary = self.reconciliation.summary
        for name in self.walk.names(start):
            for finding in self._of_stream(name):
                summary.add_finding(finding)
                yield finding
            self.reconciliation.cursor = cursor_after(name)
            if self.progress is not None:
                self.progress(Progress(summary, self.reconciliation.cursor))
        if self.tool_log is not None:
            for finding in leftover_findings(self.walk, self.scope, self.tool_log):
                summary.add_finding(finding)
                yield finding

    def _of_stream(self, name: StreamName) -> list[Finding]:
        evidence = self.walk.evidence(name)
        examined = examine(
            replace(evidence, log=self._log_about(evidence)),
            now=self.now,
            grace=self.options.grace,
            find_blocks=self.find_blocks,
            complete=self._complete,
        )
        if self.tool_log is not None:
            self.tool_log.match(examined.matched_lines)
        self.reconciliation.summary.add_stream(examined.case)
        self.reconciliation.summary.log_entries += len(examined.matched_lines)
        return self._without_paused(name, examined.findings)

    def _log_about(self, evidence: Evidence) -> list[LogEntry]:
        if self.tool_log is None:
            return []
        known = trails(evidence.events, evidence.dispatches)
        keys = {key for trail in known.values() for key in trail.idempotency_keys}
        return self.tool_log.about(evidence.commit_key, known.keys(), keys)

    def _complete(self, tool: str) -> bool:
        return self.tool_log is not None and self.tool_log.complete_for(tool)

    def _without_paused(self, name: StreamName, findings: tuple[Finding, ...]) -> list[Finding]:
        """A call that an operator holds back is waiting, not lost; it is counted."""
        if not any(finding.kind is FindingKind.LOST_EFFECT for finding in findings):
            return list(findings)
        paused = self.walk.paused(name.tenant)
        kept = [f for f in findings if f.kind is not FindingKind.LOST_EFFECT or not {f.tool, "*"} & paused]
        self.reconciliation.summary.paused += len(findings) - len(kept)
        return kept
