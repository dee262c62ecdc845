"""The third side: what the tool's own log says happened."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from effects.canonical import canonical
from effects.classes import EffectClass
from effects.intent import ResultStatus
from effects.strict_json import JSONRefused, parse
from ledger.events import EventType
from ledger.reconcile.case import Case
from ledger.reconcile.evidence import LogEntry
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.trail import Trail, body_of

Complete = Callable[[str], bool]
"""Whether the log holds everything that this tool was ever asked."""

_HAPPENED = frozenset({ResultStatus.OK.value, ResultStatus.HAPPENED_UNKNOWN_RESULT.value})
_ANSWERS = (EventType.DISPATCH_SETTLED, EventType.DISPATCH_LATE, EventType.DISPATCH_RESOLVED)


def log_by_intent(case: Case) -> Mapping[str, Sequence[LogEntry]]:
    """The log's entries that name an intent of this stream, by its id or else by its idempotency key."""
    by_key = {key: trail.intent_id for trail in case.trails.values() for key in trail.idempotency_keys}
    found: dict[str, list[LogEntry]] = defaultdict(list)
    for entry in case.evidence.log:
        about = entry.intent_id if entry.intent_id is not None else by_key.get(entry.idempotency_key or "")
        if about is not None and about in case.trails and not _is_probe(case.trails[about], entry):
            found[about].append(entry)
    return found


def _is_probe(trail: Trail, entry: LogEntry) -> bool:
    """Whether the entry is the question what became of the call: it goes to another tool, under the call's name."""
    asked = {body_of(event).get("tool") for event in trail.of(EventType.DISPATCH_PROBED)}
    return entry.tool != trail.tool and entry.tool in asked and entry.idempotency_key is None


def log_findings(case: Case, matched: Mapping[str, Sequence[LogEntry]]) -> Iterator[Finding]:
    """Entries of the log that contradict the ledger."""
    for intent_id, entries in matched.items():
        trail = case.trails[intent_id]
        for entry in entries:
            found = _of_entry(case, trail, entry)
            if found is not None:
                kind, why = found
                yield case.finding(kind, trail, why, line=entry.line, tool=entry.tool)
        happened = [entry for entry in entries if entry.effect is not False]
        if len(happened) > 1 and trail.standing().effect is EffectClass.WRITE:
            lines = ", ".join(str(entry.line) for entry in happened)
            why = f"a WRITE happened {len(happened)} times: lines {lines} of the tool's log"
            yield case.finding(FindingKind.DUPLICATE, trail, why, line=happened[-1].line)


def missing(case: Case, matched: Mapping[str, Sequence[LogEntry]], complete: Complete) -> Iterator[Finding]:
    """Calls answered, as we recorded, that are absent from a log that holds everything of their tool."""
    for trail in case.trails.values():
        if trail.redacted and trail.standing().effect is not EffectClass.READ_ONLY:
            # The log may know it by the idempotency key alone, and that is gone.
            continue
        if trail.tool is None or matched.get(trail.intent_id) or not complete(trail.tool):
            continue
        answer = next((e for e in trail.of(*_ANSWERS) if body_of(e).get("status") in _HAPPENED), None)
        if answer is not None:
            why = f"settled {body_of(answer)['status']} at seq {answer.seq}, and absent from the tool's log"
            yield case.finding(FindingKind.MISSING_AT_TOOL, trail, why, seq=answer.seq)


def _of_entry(case: Case, trail: Trail, entry: LogEntry) -> tuple[FindingKind, str] | None:
    if entry.commit_key is not None and entry.commit_key != case.evidence.commit_key:
        said = f"the tool's log has it under the commit key {entry.commit_key!r}"
        return FindingKind.KEY_DIVERGENCE, said
    keys = trail.idempotency_keys
    if not trail.redacted and entry.idempotency_key is not None and entry.idempotency_key not in keys:
        return FindingKind.KEY_DIVERGENCE, "the tool's log has it under an idempotency key that it never had"
    if not trail.attempts:
        return FindingKind.UNKNOWN_TO_US, "the tool was asked, and no dispatch is recorded"
    if all(attempt.unsent for attempt in trail.attempts.values()):
        return FindingKind.UNKNOWN_TO_US, "the tool was asked, and every dispatch is recorded as unsent"
    resolved = next(trail.of(EventType.DISPATCH_RESOLVED), None)
    if resolved is not None and entry.effect is not False:
        status = body_of(resolved).get("status")
        if status == ResultStatus.NOT_HAPPENED.value:
            return FindingKind.LATE_EVIDENCE, f"resolved as {status}, and the tool's log has it"
    if not _same_arguments(entry.arguments, trail.arguments_raw):
        return FindingKind.ARGUMENT_MISMATCH, "the tool's log has other arguments than those held"
    return None


def _same_arguments(logged: str | None, held: str | None) -> bool:
    """Whether both texts spell one JSON value; byte for byte where either is no strict JSON."""
    if logged is None or held is None or logged == held:
        return True
    try:
        return canonical(parse(logged)) == canonical(parse(held))
    except JSONRefused:
        return False
