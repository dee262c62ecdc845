r"""The file that ``ledger export`` writes: the sealed log, line by line, in log order.

::

    {"checkpoint":"<note>","format":"commitgate-ledger-export/1","tenant":null}          the header, first
    <index> TAB <leaf hash, hex> TAB <envelope> TAB <payload> TAB <salt, hex>            an event
    <index> TAB <leaf hash, hex> TAB <envelope> TAB TAB                                  an event that is redacted
    <index> TAB <leaf hash, hex>                                                         an event of another tenant
    {"checkpoint":"<note>","number":1}                                                   after the events that it covers

Every line ends with a newline; no other tab or newline occurs, because envelopes and payloads are canonical JSON. The
header holds the checkpoint that covers the whole file, which also is its last line: a file that is cut short shows it.
``tenant`` null: every event is there. Numbers are decimal, hex is lower case, the two kinds of JSON lines are canonical
(RFC 8785): a line has one spelling. Nothing needs to be read back: both ends work in constant memory.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, cast

from effects.canonical import canonical
from effects.strict_json import JSONRefused
from effects.wording import counted
from ledger.errors import ExportRefused
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import body_of

FORMAT = "commitgate-ledger-export/1"

LARGEST_LINE = 128 << 20
"""Bytes of a line at most, its newline included: six times the largest answer that is recorded (``effects.tool``), which is
what it comes to where every byte of it is escaped, and what goes with it."""

LARGEST_NOTE = 1 << 20
"""Bytes of a line of JSON at most: a header's or a checkpoint's. A parser needs many times what it parses."""


@dataclass(frozen=True, slots=True)
class Header:
    """``note``: the signed checkpoint that covers the file. ``tenant``: whose events are shown; None: everyone's."""

    note: str
    tenant: str | None = None

    def line(self) -> bytes:
        """The line as it is written."""
        return canonical({"checkpoint": self.note, "format": FORMAT, "tenant": self.tenant}) + b"\n"


class EventLine(NamedTuple):
    """An event, its fields as they are spelled; ``payload`` and ``salt`` are empty once it is redacted."""

    log_index: bytes
    leaf_hash: bytes
    envelope: bytes
    payload: bytes
    salt: bytes


class HashLine(NamedTuple):
    """An event of a tenant whose events are not shown."""

    log_index: bytes
    leaf_hash: bytes


_EVENT_FIELDS = len(EventLine._fields)
_HASH_FIELDS = len(HashLine._fields)


class CheckpointLine(NamedTuple):
    """A signed checkpoint; ``number`` counts them from 1."""

    note: str
    number: int

    def line(self) -> bytes:
        """The line as it is written."""
        return canonical({"checkpoint": self.note, "number": self.number}) + b"\n"


class ExportWriter:
    """Writes an export: the header at once, then what it is given, in log order; it counts indexes and checkpoints.

    ``note`` is the checkpoint to export up to. Raises ExportRefused for what would make a file that does not verify.
    """

    def __init__(self, file: BinaryIO, note: str, tenant: str | None = None) -> None:
        self._file = file
        self._until = Checkpoint.parse(body_of(note)).size
        self._size = 0
        self._number = 0
        file.write(Header(note, tenant).line())

    @property
    def size(self) -> int:
        """Number of events written."""
        return self._size

    def event(self, leaf_hash: bytes, envelope: bytes, payload: str | None, salt: bytes | None) -> None:
        """The next event; ``payload`` and ``salt`` both None where it is redacted."""
        if (payload is None) != (salt is None):
            raise ExportRefused(
                f"event {self._size} has one of payload and salt: redaction takes both", self._size
            )
        fields = (
            leaf_hash.hex().encode(),
            envelope,
            (payload or "").encode(),
            (salt or b"").hex().encode(),
        )
        self._write(fields)

    def hash_only(self, leaf_hash: bytes) -> None:
        """The next event, which belongs to another tenant."""
        self._write((leaf_hash.hex().encode(),))

    def checkpoint(self, note: str) -> None:
        """A signed checkpoint that covers exactly the events written so far."""
        size = Checkpoint.parse(body_of(note)).size
        if size != self._size:
            raise ExportRefused(
                f"a checkpoint of {counted(size, 'event')} does not belong after {self._size}"
            )
        self._number += 1
        self._file.write(CheckpointLine(note, self._number).line())

    def _write(self, fields: Iterable[bytes]) -> None:
        if self._size == self._until:
            covered = counted(self._until, "event")
            raise ExportRefused(f"the checkpoint in the header covers {covered}, here is another")
        line = b"\t".join((b"%d" % self._size, *fields))
        if b"\n" in line or line.count(b"\t") not in (1, 4):
            raise ExportRefused(
                f"event {self._size} holds a tab or a newline: it is not canonical JSON", self._size
            )
        if len(line) >= LARGEST_LINE:
            raise ExportRefused(
                f"event {self._size} has more bytes than a line of an export may have", self._size
            )
        self._file.write(line + b"\n")
        self._size += 1


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, each with its newline, in constant memory: of one that is too long its beginning, and no more.

    What is cut has no newline at its end and is refused by ``parse_header`` and ``parse_line``.
    """
    while line := file.readline(LARGEST_LINE):
        yield line
        if not line.endswith(b"\n"):
            return


def read(lines: Iterable[bytes]) -> Iterator[Header | EventLine | HashLine | CheckpointLine]:
    """The lines of an export, the header first; nothing of what they say is checked here.

    ``lines``: each with its newline, as a file opened for reading bytes gives them. Raises ExportRefused at the first
    line that has no form of an export's line.
    """
    rest = iter(lines)
    yield parse_header(next(rest, b""))
    yield from map(parse_line, rest)


def parse_header(line: bytes) -> Header:
    """Read the first line. Raises ExportRefused."""
    if len(line) > LARGEST_NOTE:
        raise ExportRefused("the first line is too long for the header of an export")
    fields = _json(line)
    note, tenant = fields.get("checkpoint"), fields.get("tenant")
    if not isinstance(note, str) or not (tenant is None or isinstance(tenant, str)):
        raise ExportRefused("the first line is not the header of an export")
    header = Header(note, tenant)
    if not _is_spelled(line, header):
        raise ExportRefused(f"the header is not that of {FORMAT}, or not spelled as it is written")
    return header


def parse_line(line: bytes) -> EventLine | HashLine | CheckpointLine:
    """Read a line after the first. Raises ExportRefused."""
    if not line.endswith(b"\n"):
        told = f"has {LARGEST_LINE} bytes and does not end" if len(line) >= LARGEST_LINE else "does not end"
        raise ExportRefused(f"the line {told} with a newline")
    if line.startswith(b"{"):
        return _checkpoint(line)
    fields = line[:-1].split(b"\t")
    if len(fields) == _EVENT_FIELDS:
        return EventLine(*fields)
    if len(fields) == _HASH_FIELDS:
        return HashLine(*fields)
    raise ExportRefused(f"the line has {len(fields)} fields: no line of an export has that many")


def _checkpoint(line: bytes) -> CheckpointLine:
    if len(line) > LARGEST_NOTE:
        raise ExportRefused("the line is too long for a checkpoint's")
    fields = _json(line)
    note, number = fields.get("checkpoint"), fields.get("number")
    if not isinstance(note, str) or type(number) is not int:
        raise ExportRefused("the line is no checkpoint's")
    checkpoint = CheckpointLine(note, number)
    if not _is_spelled(line, checkpoint):
        raise ExportRefused("the checkpoint's line is not spelled as it is written")
    return checkpoint


def _is_spelled(line: bytes, value: Header | CheckpointLine) -> bool:
    try:
        return value.line() == line
    except JSONRefused:
        return False


def _json(line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ExportRefused("the line is not JSON") from error
    return cast(dict[str, object], value) if isinstance(value, dict) else {}
