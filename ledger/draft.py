"""A change made ready to be written: its events recorded, the state after it, the rows that follow."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, cast

from ledger.change import BatchReplay, Change, Licence, SideRow
from ledger.events import Event, EventType, NewEvent
from ledger.fold import fold_all
from ledger.payload import as_stored, payload_digest
from ledger.projection import ProjectionRows, rows
from ledger.sharding import StreamName
from ledger.state import StreamState


class Record(NamedTuple):
    """An event with what is stored of it beside its columns: ``text`` is its payload as UTF-8 bytes."""

    event: Event
    text: bytes
    salt: bytes
    digest: bytes


@dataclass(slots=True)
class Draft:
    """Everything that one transaction is to write on top of ``before``.

    ``met``: how often the server had changed when ``before`` was read (``AnsweringServer.changes``).
    """

    stream: StreamName
    before: StreamState
    after: StreamState
    records: tuple[Record, ...]
    rows: ProjectionRows
    side: tuple[SideRow, ...]
    met: int

    @property
    def events(self) -> tuple[Event, ...]:
        """Its events, in order."""
        return tuple([record.event for record in self.records])


# Made by the hundred thousand: without a call of Python for each.
_EVENT = cast("Callable[[tuple[object, ...]], Event]", partial(tuple.__new__, Event))
_RECORD = cast("Callable[[tuple[object, ...]], Record]", partial(tuple.__new__, Record))


def draft(
    stream: StreamName,
    before: StreamState,
    change: Change,
    *,
    at: datetime,
    salt: Callable[[], bytes],
    met: int = 0,
) -> Draft:
    """Record the events of ``change`` behind ``before`` and fold them, unless whoever decided has done so.

    Raises UnwritableValue for a payload that is no JSON, ValueError for a licence without its
    dispatch.started and for side rows of a stream that does not exist.
    """
    if not change.events and before.seq == 0:
        raise ValueError("a stream begins with an event")
    folded = change.folded
    if folded is not None and folded.before is before:
        at = folded.at
    records = tuple([_record(new, seq, at, salt()) for seq, new in enumerate(change.events, before.seq + 1)])
    after = _after(before, change, records)
    side = tuple([_completed(row, records, after) for row in change.side])
    return Draft(stream, before, after, records, rows(before, after), side, met)


def _record(new: NewEvent, seq: int, at: datetime, salt: bytes) -> Record:
    # What is folded here is the payload as everybody else will read it.
    type_, said, branch, intent_id, attempt, head_after, cut_at = new
    text, payload = as_stored(said)
    event = _EVENT((seq, at, type_, payload, branch, intent_id, attempt, head_after, cut_at, False, False))
    return _RECORD((event, text, salt, payload_digest(salt, text)))


def _after(before: StreamState, change: Change, records: tuple[Record, ...]) -> StreamState:
    folded = change.folded
    # What is written may read back as another value than what was decided on: a tuple as a list, 1.0 as 1.
    if (
        folded is not None
        and folded.before is before
        and all(
            record.event.payload is new.payload for record, new in zip(records, change.events, strict=True)
        )
    ):
        return folded.after
    return fold_all(before, [record.event for record in records])


def _completed(row: SideRow, records: tuple[Record, ...], after: StreamState) -> SideRow:
    if isinstance(row, Licence):
        return _with_seq(row, records)
    if isinstance(row, BatchReplay) and not isinstance(row.response, str):
        return replace(row, response=row.response(after))
    return row


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
