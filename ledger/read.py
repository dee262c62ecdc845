"""Reading events and answers to batches as they were written."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any, cast

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    literal_column,
    select,
    text,
)

from ledger.change import StoredBatch
from ledger.errors import UnreadableStream
from ledger.events import Event, EventType, Payload, type_as_written
from ledger.kinds import fits
from ledger.payload import parsed
from ledger.schema import batches, events, of_stream
from ledger.sharding import SHARDS, StreamName

EVENT_COLUMNS = (
    events.c.seq,
    events.c.at,
    events.c.type,
    events.c.payload,
    events.c.branch,
    events.c.intent_id,
    events.c.attempt,
    events.c.head_after,
    events.c.cut_at,
)
"""What ``event_of`` reads."""


# Made once: building a statement takes longer than the database takes to answer it. No limit is a limit of null.
_BEHIND = (
    select(*EVENT_COLUMNS)
    .where(
        events.c.shard == bindparam("shard"),
        events.c.tenant == bindparam("tenant"),
        events.c.commit_key == bindparam("commit_key"),
        events.c.seq > bindparam("after"),
    )
    .order_by(events.c.seq)
    .limit(bindparam("limit", type_=BigInteger))
)

_WHOLE = text(
    """
select e.shard, e.tenant, e.commit_key, e.seq, e.at, e.type, e.payload, e.branch, e.intent_id, e.attempt, e.head_after,
    e.cut_at
from json_to_recordset(cast(:streams as json)) as s (shard smallint, tenant text, commit_key text)
join ledger.events e on e.shard = s.shard and e.tenant = s.tenant and e.commit_key = s.commit_key
order by e.shard, e.tenant, e.commit_key, e.seq
"""
)


def read_whole(connection: Connection, streams: Sequence[StreamName]) -> dict[StreamName, list[Event]]:
    """All events of each of some streams, in order, in one statement. Streams that hold an event that is redacted
    or not to be understood are left out: they need a second look (``read_events``).
    """
    told = json.dumps([stream.columns() for stream in streams])
    found: dict[StreamName, list[Event]] = {}
    apart: set[StreamName] = set()
    for shard, tenant, commit_key, seq, at, type_, payload, *rest in connection.execute(
        _WHOLE, {"streams": told}
    ):
        stream = StreamName(shard, tenant, commit_key)
        known, body = _understood(type_, payload)
        if known is None or payload is None:
            apart.add(stream)
            continue
        event = Event(seq, at.astimezone(UTC), known, body, *rest)
        found.setdefault(stream, []).append(event)
    return {stream: read for stream, read in found.items() if stream not in apart}


def read_events(
    connection: Connection, stream: StreamName, *, after: int, limit: int | None = None, lenient: bool = False
) -> list[Event]:
    """Events of ``stream`` with a seq above ``after``, in order, at most ``limit`` of them (None: all).

    The payload of a redacted event reads as what remains of it; as an empty object where nothing says. Raises
    ``UnreadableStream`` for an event that is not to be understood; ``lenient`` gives it as it is (``Event.unreadable``).
    """
    given = {**stream.columns(), "after": after, "limit": limit}
    found = [event_of(row) for row in connection.execute(_BEHIND, given)]
    if not lenient:
        for event in found:
            if event.unreadable:
                why = f"the payload or the type of event {event.seq} is none of ours"
                raise UnreadableStream(stream.commit_key, why)
    if not any(event.redacted for event in found):
        return found
    remains = read_remains(connection, stream)
    return [e._replace(payload=remains.get(e.seq, e.payload)) if e.redacted else e for e in found]


def read_remains(connection: Connection, stream: StreamName) -> Mapping[int, Payload]:
    """What remains of each payload of ``stream`` that a ``payload.redacted`` names, by seq."""
    query = select(events.c.payload).where(of_stream(events, stream), redacts())
    found: dict[int, Payload] = {}
    for stored in connection.execute(query).scalars():
        remains = _said(stored).get("remains")
        if isinstance(remains, dict):
            found.update((int(seq), body) for seq, body in remains.items() if seq.isdecimal())
    return found


def read_redactions(connection: Connection) -> Iterator[tuple[StreamName, list[int]]]:
    """What the redactions of all streams name, stream by stream."""
    query = select(*(events.c[name] for name in ("shard", "tenant", "commit_key", "payload"))).where(
        events.c.shard.in_(range(SHARDS)), redacts()
    )
    for row in connection.execute(query):
        seqs = _said(row.payload).get("seqs")
        named = [seq for seq in seqs if isinstance(seq, int)] if isinstance(seqs, list) else []
        yield StreamName(row.shard, row.tenant, row.commit_key), named


def redacts() -> ColumnElement[bool]:
    """The condition that an event is a ``payload.redacted`` with its payload."""
    # The type as a literal: an index holds these events alone, and a parameter could not show that it fits.
    type_: ColumnElement[str] = literal_column(f"'{EventType.PAYLOAD_REDACTED.value}'")
    return and_(events.c.type == type_, events.c.payload.is_not(None))


def read_batch(connection: Connection, stream: StreamName, batch_id: str) -> StoredBatch | None:
    """The batch of this name, if it was answered."""
    query = select(batches.c.body_digest, batches.c.response)
    row = connection.execute(
        query.where(of_stream(batches, stream), batches.c.batch_id == batch_id)
    ).one_or_none()
    return None if row is None else StoredBatch(bytes(row.body_digest), row.response)


def event_of(row: Row[*tuple[object, ...]]) -> Event:
    """The event of a row that has at least ``EVENT_COLUMNS``; the payload of a redacted or unreadable one is an empty object."""
    type_, payload = _understood(row.type, row.payload)
    return Event(
        seq=row.seq,
        at=row.at.astimezone(UTC),
        type=type_as_written(row.type) if type_ is None else type_,
        payload=payload,
        branch=row.branch,
        intent_id=row.intent_id,
        attempt=row.attempt,
        head_after=row.head_after,
        cut_at=row.cut_at,
        redacted=row.payload is None,
        unreadable=type_ is None,
    )


def _said(payload: str) -> Mapping[str, Any]:
    """What a ``payload.redacted`` says: nothing, where it is not to be understood."""
    return cast("Mapping[str, Any]", _understood(EventType.PAYLOAD_REDACTED.value, payload)[1])


def _understood(type_: str, payload: str | None) -> tuple[EventType | None, Payload]:
    """Type and payload as they were written; no type where either is none of ours."""
    try:
        known, body = EventType(type_), {} if payload is None else parsed(payload)
    except (ValueError, RecursionError):
        return None, {}
    return (known, body) if isinstance(body, dict) and fits(body) else (None, {})
