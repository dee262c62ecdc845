"""What is left of a tool's log once every stream in scope has taken its own entries."""

from collections.abc import Collection, Iterator, Sequence

from ledger.reconcile.evidence import LogEntry
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.toollog import ToolLog
from ledger.reconcile.walk import Owner, Scope, Walk

_BATCH = 500


def leftover_findings(walk: Walk, scope: Scope, log: ToolLog) -> Iterator[Finding]:
    """A finding for each entry in scope that no examined stream has: unknown to us, or of another commit key.

    Entries of intents that the ledger knows under the entry's own commit key are passed over: their stream was not in
    scope, or was examined by the run that this one goes on from. So are entries that tell their call by its idempotency
    key alone, where that may be the key of a redacted one.
    """
    after = 0
    while entries := log.unmatched(after=after, limit=_BATCH):
        after = entries[-1].line
        wanted = [entry for entry in entries if _in_scope(scope, entry)]
        owners = _owners(walk, wanted)
        gone = _redacted(walk, wanted)
        for entry in wanted:
            if entry.intent_id is None and entry.idempotency_key not in owners and entry.commit_key in gone:
                # It may be that of a redacted call: their keys are gone.
                continue
            owner = owners.get(entry.intent_id or entry.idempotency_key or "")
            found = _finding(scope, entry, owner)
            if found is not None:
                yield found


def _in_scope(scope: Scope, entry: LogEntry) -> bool:
    if scope.commit_key is not None and entry.commit_key != scope.commit_key:
        return False
    if entry.at is None:
        return True
    early = scope.since is not None and entry.at < scope.since.timestamp()
    late = scope.until is not None and entry.at >= scope.until.timestamp()
    return not (early or late)


def _redacted(walk: Walk, entries: Sequence[LogEntry]) -> Collection[str | None]:
    """The commit keys, among those of entries that name no intent, under which calls are redacted; None: any at all."""
    keys = {entry.commit_key for entry in entries if entry.intent_id is None}
    named = {key for key in keys if key is not None}
    anywhere: set[str | None] = {None} if None in keys and walk.redacted(None) else set()
    return anywhere | walk.redacted(named) if named else anywhere


def _owners(walk: Walk, entries: Sequence[LogEntry]) -> dict[str, Owner]:
    ids = {entry.intent_id for entry in entries if entry.intent_id is not None}
    keys = {e.idempotency_key for e in entries if e.intent_id is None and e.idempotency_key is not None}
    if not ids and not keys:
        return {}
    found = walk.owners(ids, keys)
    by_key = {owner.idempotency_key: owner for owner in found if owner.idempotency_key in keys}
    return {key: owner for key, owner in by_key.items() if key is not None} | {o.intent_id: o for o in found}


def _finding(scope: Scope, entry: LogEntry, owner: Owner | None) -> Finding | None:
    if owner is None:
        kind, why = FindingKind.UNKNOWN_TO_US, "the tool was asked for a call that the ledger does not know"
    elif entry.commit_key is None or owner.commit_key == entry.commit_key:
        return None
    else:
        kind = FindingKind.KEY_DIVERGENCE
        why = f"the tool's log has it under {entry.commit_key!r}, and it is an intent of {owner.commit_key!r}"
    tenant = scope.tenant if owner is None else owner.tenant
    return Finding(
        kind,
        tenant,
        entry.commit_key,
        entry.intent_id,
        None,
        why,
        tool=entry.tool,
        log_line=entry.line,
    )
