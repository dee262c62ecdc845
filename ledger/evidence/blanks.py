"""Events whose payload is gone and that no redaction has named yet, in bounded memory however many there are.

A redaction comes behind all that it names, so each blank line waits for one; what still waits at the end of a log was
taken away by nobody who may.
"""

import json
import sqlite3
from collections.abc import Iterable
from json.encoder import encode_basestring
from types import TracebackType

from ledger.evidence.seqs import Stream, stream_named

HELD = 50_000
"""Blank events in memory at most (some 20 MB); those met longest ago wait in a private temporary file."""

_LARGEST = 16 << 20

_REDACTION = b'"type":"payload.redacted"}'


def is_redaction(envelope: bytes) -> bool:
    """Whether the envelope, which has the form of one, is that of a ``payload.redacted``."""
    # The type comes last, and what a text holds of quotation marks is escaped.
    return envelope.endswith(_REDACTION)


def spelled_stream(tenant: str, commit_key: str) -> Stream:
    """The name of a stream as envelopes spell it."""
    return stream_named(encode_basestring(tenant).encode(), encode_basestring(commit_key).encode())


def named_by(payload: bytes) -> list[int]:
    """The seqs that the payload of a ``payload.redacted`` names; none where it cannot be read, or is gone."""
    # Two million seqs fit; a parser needs many times what it parses.
    if len(payload) > _LARGEST:
        return []
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError):
        return []
    seqs = said.get("seqs") if isinstance(said, dict) else None
    return [seq for seq in seqs if type(seq) is int] if isinstance(seqs, list) else []


class Blanks:
    """Remembers blank events by stream and seq. A context: leaving it removes the temporary file, if there was one."""

    def __init__(self, held: int = HELD) -> None:
        """``held``: blank events in memory at most."""
        self._limit = held
        self._held: dict[tuple[Stream, int], int] = {}
        self._spilled: sqlite3.Connection | None = None

    def add(self, stream: Stream, seq: int, index: int) -> None:
        """The event ``seq`` of ``stream``, at ``index`` of the log, is blank."""
        self._held[stream, seq] = index
        if len(self._held) > self._limit:
            self._spill()

    def name(self, stream: Stream, seqs: Iterable[int]) -> None:
        """A redaction in ``stream`` names these: those of them that came before it are accounted for."""
        for seq in seqs:
            if self._held.pop((stream, seq), None) is None and self._spilled is not None:
                where = "delete from blanks where tenant = ? and commit_key = ? and seq = ?"
                # A number that SQLite cannot hold is no seq of any event.
                if 0 < seq < 2**53:
                    self._spilled.execute(where, (*stream, seq))

    def first(self) -> int | None:
        """The smallest index of those that nothing has named; None where there is none."""
        found = [min(self._held.values())] if self._held else []
        if self._spilled is not None:
            row = self._spilled.execute("select min(log_index) from blanks").fetchone()
            found += [row[0]] if row[0] is not None else []
        return min(found, default=None)

    def __enter__(self) -> "Blanks":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spilled is not None:
            self._spilled.close()

    def _spill(self) -> None:
        if self._spilled is None:
            # The empty name: SQLite keeps it in memory as far as its cache goes, then in a file that has no name.
            self._spilled = sqlite3.connect("", isolation_level=None)
            self._spilled.execute(
                "create table blanks (tenant blob, commit_key blob, seq integer, log_index integer,"
                " primary key (tenant, commit_key, seq)) without rowid"
            )
        rows = [(*stream, seq, index) for (stream, seq), index in self._held.items()]
        self._held.clear()
        self._spilled.execute("begin")
        self._spilled.executemany("insert or replace into blanks values (?, ?, ?, ?)", rows)
        self._spilled.execute("commit")
