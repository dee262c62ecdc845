"""Holding every view against what Python makes of the same stream."""

from collections import Counter
from datetime import UTC, datetime

from sqlalchemy import Engine

from tests.ledger.audit import expected
from tests.ledger.audit.asking import Auditor, Row
from tests.ledger.liveturn import LiveTurn

_TOKEN = ("branch", "round", "position", "id", "text", "drafted", "drafter", "verdict", "seq", "decided_seq")
_RULING = ("branch", "round", "seq", "span_start", "span_end", "judged", "accepted", "cut_at", "head_before")
_RULING += ("head_after", "own_id", "own_text", "ruling_id", "rule", "verify_ms")
_DISPATCH = ("intent_id", "attempt", "started_seq", "effect", "status", "unsent", "licensed", "recorded")
_LINE = ("seq", "type", "kind", "branch", "intent_id", "line")
_DOUBT = ("intent_id", "attempt", "in_doubt_seq", "because", "open", "resolved_by", "late_evidence_seq")


def picked(rows: list[Row], names: tuple[str, ...]) -> Counter[tuple[object, ...]]:
    """These columns of each row."""
    return Counter(tuple(row[name] for name in names) for row in rows)


def same(view: str, shown: object, wanted: object) -> None:
    """Raise with what differs."""
    if shown == wanted:
        return
    if isinstance(shown, Counter) and isinstance(wanted, Counter):
        raise AssertionError(f"{view}: only shown {shown - wanted}, only wanted {wanted - shown}")
    if isinstance(shown, dict) and isinstance(wanted, dict):
        keys = [key for key in shown.keys() | wanted.keys() if shown.get(key) != wanted.get(key)]
        for key in keys:
            mine, theirs = shown.get(key), wanted.get(key)
            if isinstance(mine, dict) and isinstance(theirs, dict):
                names = [n for n in mine.keys() | theirs.keys() if mine.get(n) != theirs.get(n)]
                raise AssertionError(f"{view} {key}: {[(n, mine.get(n), theirs.get(n)) for n in names]}")
            raise AssertionError(f"{view} {key}: shown {mine}, wanted {theirs}")
    if isinstance(shown, list) and isinstance(wanted, list):
        pairs = [pair for pair in zip(shown, wanted, strict=False) if pair[0] != pair[1]]
        raise AssertionError(f"{view}: {len(shown)} and {len(wanted)} rows, first differing {pairs[:1]}")
    raise AssertionError(f"{view}: shown {shown}, wanted {wanted}")


def check_all(auditor: Auditor, engine: Engine, turn: LiveTurn) -> Counter[str]:
    """Every view of one stream; returns how many rows each had."""
    key, events, state = turn.key, turn.events, turn.state
    evidence = expected.evidence_of(engine, turn.tenant, key)
    shown = {view: auditor.rows(view, key) for view in ("tokens", "rulings", "intents")}
    same("tokens", picked(shown["tokens"], _TOKEN), expected.tokens(events))
    same("rulings", picked(shown["rulings"], _RULING), expected.rulings(events))
    same(
        "intents", {str(row["intent_id"]): row for row in shown["intents"]}, expected.intents(state, evidence)
    )
    shown["dispatches"] = check_dispatches(auditor, engine, turn.tenant, key)
    shown["timeline"] = check_story(auditor, turn)
    shown["early_reads"] = auditor.rows("early_reads", key)
    fates = {(row["intent_id"], row["attempt"]): row["fate"] for row in shown["early_reads"]}
    same("early_reads", fates, expected.early_reads(evidence))
    shown["doubts"] = auditor.rows("doubts", key)
    same("doubts", picked(shown["doubts"], _DOUBT), expected.doubts(evidence))
    shown["dispatched_vs_accepted"] = check_findings(auditor, engine, turn.tenant, key)
    counts = Counter({view: len(rows) for view, rows in shown.items()})
    counts.update(f"verdict {row['verdict']}" for row in shown["tokens"])
    counts.update(f"state {row['state']}" for row in shown["intents"])
    counts.update(f"fate {row['fate']}" for row in shown["early_reads"])
    counts.update(f"finding {row['finding']}" for row in shown["dispatched_vs_accepted"] if row["finding"])
    return counts


def check_dispatches(auditor: Auditor, engine: Engine, tenant: str, key: str) -> list[Row]:
    """dispatches of one stream; returns its rows."""
    rows = auditor.rows("dispatches", key)
    same(
        "dispatches", picked(rows, _DISPATCH), expected.dispatches(expected.evidence_of(engine, tenant, key))
    )
    return rows


def check_story(auditor: Auditor, turn: LiveTurn) -> list[Row]:
    """timeline of one stream; returns its rows."""
    rows = auditor.rows("timeline", turn.key)
    told = [tuple(row[name] for name in _LINE) for row in sorted(rows, key=lambda row: int(str(row["seq"])))]
    same("timeline", told, expected.story(turn.events))
    return rows


def check_findings(auditor: Auditor, engine: Engine, tenant: str, key: str) -> list[Row]:
    """dispatched_vs_accepted of one stream; returns its rows."""
    evidence = expected.evidence_of(engine, tenant, key)
    rows = auditor.rows("dispatched_vs_accepted", key)
    found = [row for row in rows if row["finding"] is not None]
    same(
        "findings",
        picked(found, ("finding", "intent_id", "finding_seq")),
        expected.findings(evidence, datetime.now(UTC)),
    )
    items = {(row["intent_id"], row["attempt"]) for row in rows}
    missing = expected.union(evidence) - items
    assert not missing, missing
    beyond = [row for row in rows if (row["intent_id"], row["attempt"]) not in expected.union(evidence)]
    assert all(row["finding"] is not None for row in beyond), beyond
    return rows
