"""Events as the text of COPY: bytes that the database takes as they are (PostgreSQL manual, COPY, "Text Format")."""

from collections.abc import Iterable
from datetime import datetime

from ledger.draft import Draft, Record
from ledger.sharding import StreamName

_NULL = "\\N"


def copy_text(drafts: Iterable[Draft]) -> bytes:
    """The rows of all events of ``drafts``, in order."""
    return b"".join([row for draft in drafts for row in _rows(draft.stream, draft.records)])


def copy_rows(stream: StreamName, records: tuple[Record, ...]) -> bytes:
    """The rows of some events of one stream."""
    return b"".join(_rows(stream, records))


def _rows(stream: StreamName, records: tuple[Record, ...]) -> list[bytes]:
    start = f"{stream.shard}\t{_text(stream.tenant)}\t{_text(stream.commit_key)}\t"
    pieces: list[bytes] = []
    moment: datetime | None = None
    written = ""
    for event, text, salt, digest in records:
        seq, at, type_, _payload, branch, intent_id, attempt, head_after, cut_at, _redacted, _unreadable = (
            event
        )
        if at is not moment:
            moment, written = at, at.isoformat()
        columns = (
            f"{start}{seq}\t{type_}\t{_text(branch)}\t{_text(intent_id)}\t{_number(attempt)}"
            f"\t{_number(head_after)}\t{_number(cut_at)}\t{written}\t"
        )
        # Canonical JSON escapes every control character, so the backslash is all that COPY could take for its own.
        payload = text.replace(b"\\", b"\\\\")
        pieces += (columns.encode(), payload, f"\t\\\\x{salt.hex()}\t\\\\x{digest.hex()}\n".encode())
    return pieces


def _text(value: str | None) -> str:
    if value is None:
        return _NULL
    if value.isalnum():
        return value
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _number(value: int | None) -> str | int:
    return _NULL if value is None else value
