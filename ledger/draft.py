"""A change made ready to be written: its events recorded, the state after it, the rows that follow."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from ledger.change import Change, Licence, SideRow
from ledger.events import Event, EventType, NewEvent
from ledger.fold import fold
from ledger.payload import canonical_text, parsed, payload_digest
from ledger.projection import ProjectionRows, rows
from ledger.sharding import StreamName
from ledger.state import StreamState


@dataclass(frozen=True, slots=True)
class Record:
    """An event with what is stored of it beside its columns."""

    event: Event
    text: str
    salt: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything that one transaction is to write on top of ``before``."""

    stream: StreamName
    before: StreamState
    after: StreamState
    records: tuple[Record, ...]
    rows: ProjectionRows
    side: tuple[SideRow, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """Its events, in order."""
        return tuple(record.event for record in self.records)


def draft(
    stream: StreamName, before: StreamState, change: Change, *, at: datetime, salt: Callable[[], bytes]
) -> Draft:
    """Record the events of ``change`` behind ``before`` and fold them.

    Raises UnwritableValue for a payload that is no JSON, ValueError for a licence without its
    dispatch.started and for side rows of a stream that does not exist.
    """
    if not change.events and before.seq == 0:
        raise ValueError("a stream begins with an event")
    records = tuple(
        _record(new, seq=before.seq + place, at=at, salt=salt()) for place, new in enumerate(change.events, 1)
    )
    after = before
    for record in records:
        after = fold(after, record.event)
    side = tuple(_with_seq(row, records) if isinstance(row, Licence) else row for row in change.side)
    return Draft(stream, before, after, records, rows(before, after), side)


def _record(new: NewEvent, *, seq: int, at: datetime, salt: bytes) -> Record:
    text = canonical_text(new.payload)
    event = Event(
        seq=seq,
        at=at,
        type=new.type,
        # Read back, so that what is folded here is what everybody else will fold.
        payload=parsed(text),
        branch=new.branch,
        intent_id=new.intent_id,
        attempt=new.attempt,
        head_after=new.head_after,
        cut_at=new.cut_at,
    )
    return Record(event, text, salt, payload_digest(salt, text))


def _with_seq(licence: Licence, records: tuple[Record, ...]) -> Licence:
    wanted = (EventType.DISPATCH_STARTED, licence.intent_id, licence.attempt)
    for record in records:
        event = record.event
        if (event.type, event.intent_id, event.attempt) == wanted:
            return replace(licence, started_seq=event.seq)
    if licence.started_seq is None:
        raise ValueError(
            f"no dispatch.started of {licence.intent_id} attempt {licence.attempt} goes with its licence"
        )
    return licence
