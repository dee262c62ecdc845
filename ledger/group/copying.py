"""Events as the text of COPY: bytes that the database takes as they are (PostgreSQL manual, COPY, "Text Format")."""

from collections.abc import Iterable
from datetime import datetime

from ledger.draft import Draft, Record
from ledger.sharding import StreamName

_NULL = b"\\N"


def copy_text(drafts: Iterable[Draft]) -> bytes:
    """The rows of all events of ``drafts``, in order."""
    return b"".join([row for draft in drafts for row in _rows(draft.stream, draft.records)])


def copy_rows(stream: StreamName, records: tuple[Record, ...]) -> bytes:
    """The rows of some events of one stream."""
    return b"".join(_rows(stream, records))


def _rows(stream: StreamName, records: tuple[Record, ...]) -> list[bytes]:
    start = b"%d\t%b\t%b\t" % (stream.shard, _escaped(stream.tenant), _escaped(stream.commit_key))
    return [start + _row(record) for record in records]


def _row(record: Record) -> bytes:
    event = record.event
    return b"%d\t%b\t%b\t%b\t%b\t%b\t%b\t%b\t%b\t\\\\x%b\t\\\\x%b\n" % (
        event.seq,
        event.type.value.encode(),
        _text(event.branch),
        _text(event.intent_id),
        _number(event.attempt),
        _number(event.head_after),
        _number(event.cut_at),
        _moment(event.at),
        # Canonical JSON escapes every control character, so the backslash is all that COPY could take for its own.
        record.text.replace(b"\\", b"\\\\"),
        record.salt.hex().encode(),
        record.digest.hex().encode(),
    )


def _text(value: str | None) -> bytes:
    return _NULL if value is None else _escaped(value)


def _escaped(value: str) -> bytes:
    if value.isalnum():
        return value.encode()
    found = value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return found.encode()


def _number(value: int | None) -> bytes:
    return _NULL if value is None else b"%d" % value


def _moment(at: datetime) -> bytes:
    return at.isoformat().encode()
