"""Projections: rows that dispatcher and auditors read, made from states alone, so that they can be dropped and rebuilt."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ledger.events import EFFECTS_STREAM
from ledger.state import Intent, StreamState

Row = dict[str, object]


_SECOND = timedelta(seconds=1)
# Made once: ``json.dumps`` makes one for each value.
_ENCODER = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":"))


@dataclass(slots=True)
class ProjectionRows:
    """Rows to write, keyed by the column names of ``ledger.schema``: the stream's, and the intents that changed."""

    stream: Row
    intents: tuple[Row, ...]


def rows(before: StreamState, after: StreamState) -> ProjectionRows:
    """The rows that differ between two states of one stream; the stream's own row is always among them."""
    known = before.intents
    changed = (
        []
        if after.intents is known
        else [i for i in after.intents.values() if known.get(i.intent_id) is not i]
    )
    return ProjectionRows(_stream_row(after), tuple([_intent_row(after, intent) for intent in changed]))


def _key(state: StreamState) -> Row:
    return {"tenant": state.tenant, "commit_key": state.commit_key}


def _stream_row(state: StreamState) -> Row:
    reserved = state.commit_key == EFFECTS_STREAM
    return {
        "tenant": state.tenant,
        "commit_key": state.commit_key,
        "seq": state.seq,
        "writer_epoch": state.writer_epoch,
        "format": None if reserved else state.format,
        "source": None if reserved else state.source,
        "binding": None if reserved else state.binding,
        "finished": state.finished,
        "parent": state.parent,
        "labels": _json(state.labels) if state.labels else "{}",
        "opened_at": state.opened_at,
        "last_at": _full_second(state.last_writer_at),
    }


def _intent_row(state: StreamState, intent: Intent) -> Row:
    return _key(state) | {
        "intent_id": intent.intent_id,
        "branch": intent.branch,
        "span_start": intent.start,
        "span_end": intent.end,
        "ordinal": intent.ordinal,
        "round": intent.round,
        "block": intent.block.value,
        "tool": intent.tool,
        "arguments_raw": intent.arguments_raw,
        "arguments_digest": intent.arguments_digest,
        "call_id": intent.call_id,
        "effect": intent.effect.value,
        "effect_version": intent.effect_version,
        "state": intent.state.value,
        "reason": intent.reason,
        "release": None if intent.release is None else intent.release.value,
        "final": intent.final,
        "stale": intent.stale,
        "attempts": intent.attempts,
        "idempotency_key": intent.idempotency_key,
        "held_seq": intent.held_seq,
        "dispatch_seq": intent.dispatch_seq,
        "settled_seq": intent.settled_seq,
        "final_seq": intent.final_seq,
        "retry_at": intent.retry_at,
        "result_status": None if intent.result_status is None else intent.result_status.value,
        "result_content": None if intent.result_status is None else _json(intent.result_content),
        "adopted_from": intent.adopted_from,
    }


def _full_second(at: datetime | None) -> datetime | None:
    # Up, so that no stream counts as silent too early; full, so that most appends leave the index alone.
    if at is None or at.microsecond == 0:
        return at
    return at.replace(microsecond=0) + _SECOND


def _json(value: object) -> str:
    plain = dict(value) if isinstance(value, Mapping) else value
    return _ENCODER.encode(plain)
