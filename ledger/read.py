"""Reading events and answers to batches as they were written."""

from datetime import UTC

from sqlalchemy import Connection, Row, select

from ledger.change import StoredBatch
from ledger.events import Event, EventType
from ledger.payload import parsed
from ledger.schema import batches, events, of_stream
from ledger.sharding import StreamName

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


def read_events(
    connection: Connection, stream: StreamName, *, after: int, limit: int | None = None
) -> list[Event]:
    """Events of ``stream`` with a seq above ``after``, in order, at most ``limit`` of them (None: all).

    The payload of a redacted event reads as an empty object.
    """
    query = select(*EVENT_COLUMNS).where(of_stream(events, stream), events.c.seq > after).order_by(events.c.seq)
    return [event_of(row) for row in connection.execute(query if limit is None else query.limit(limit))]


def read_batch(connection: Connection, stream: StreamName, batch_id: str) -> StoredBatch | None:
    """The batch of this name, if it was answered."""
    query = select(batches.c.body_digest, batches.c.response)
    row = connection.execute(
        query.where(of_stream(batches, stream), batches.c.batch_id == batch_id)
    ).one_or_none()
    return None if row is None else StoredBatch(bytes(row.body_digest), row.response)


def event_of(row: Row[*tuple[object, ...]]) -> Event:
    """The event of a row that has at least ``EVENT_COLUMNS``; the payload of a redacted one is an empty object."""
    return Event(
        seq=row.seq,
        at=row.at.astimezone(UTC),
        type=EventType(row.type),
        payload={} if row.payload is None else parsed(row.payload),
        branch=row.branch,
        intent_id=row.intent_id,
        attempt=row.attempt,
        head_after=row.head_after,
        cut_at=row.cut_at,
    )
