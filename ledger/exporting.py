"""Exporting the log: what ``ledger.evidence.exportfile`` writes, read from the database piece by piece."""

from collections.abc import Iterator
from io import BytesIO

from ledger.errors import LogForked
from ledger.events import EventType
from ledger.evidence.exportfile import ExportWriter
from ledger.log.entries import Entry, StoredCheckpoint, Wanted
from ledger.log.reader import LogReader

PAGE = 1000
"""Places of the log that are in memory at once."""


def export(
    reader: LogReader, until: StoredCheckpoint, *, tenant: str | None = None
) -> Iterator[tuple[int, bytes]]:
    """The export up to ``until``: (events so far, whole lines), in pieces, to be written one after another.

    ``tenant``: the events of others are told by their leaf hash alone; None: everyone's are shown. What was sealed never
    changes, so it does not matter how long it takes. Raises LogForked where the log ends before ``until``, TilesBroken and
    ExportRefused where it is damaged, LedgerUnavailable.
    """
    file = BytesIO()
    writer = ExportWriter(file, until.note, tenant)
    signed = _signed(reader, until)
    due = next(signed, None)
    while True:
        while due is not None and due.size == writer.size:
            writer.checkpoint(due.note)
            due = next(signed, None)
        if writer.size == until.size:
            break
        end = min(until.size, writer.size + PAGE) if due is None else min(due.size, writer.size + PAGE)
        entries = reader.entries(writer.size - 1, end - writer.size, tenant)
        if not entries:
            raise LogForked(reader.state().origin, until.size, "the database")
        for entry in entries:
            _write(writer, entry)
        yield writer.size, _taken(file)
    yield writer.size, _taken(file)


def redacted_since(reader: LogReader, until: StoredCheckpoint) -> bool:
    """Whether the log names a redaction that ``until`` does not cover: an export up to it may show what nothing explains.

    A redaction that is committed and not sealed yet is not seen.
    """
    wanted, after = Wanted(type=EventType.PAYLOAD_REDACTED), until.size - 1
    while True:
        page = reader.events(after, 1, wanted)
        if page.events or not page.more:
            return bool(page.events)
        after = page.after


def _signed(reader: LogReader, until: StoredCheckpoint) -> Iterator[StoredCheckpoint]:
    """The signed checkpoints by size, ``until`` the last of them."""
    size = -1
    while page := reader.checkpoints(size):
        for checkpoint in page:
            if checkpoint.size >= until.size:
                yield until
                return
            yield checkpoint
        size = page[-1].size
    yield until


def _write(writer: ExportWriter, entry: Entry) -> None:
    if entry.envelope is None:
        writer.hash_only(entry.leaf_hash)
    else:
        writer.event(entry.leaf_hash, entry.envelope.encode(), entry.payload, entry.salt)


def _taken(file: BytesIO) -> bytes:
    lines = file.getvalue()
    file.seek(0)
    file.truncate()
    return lines
