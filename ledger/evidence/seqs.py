"""The last seq of every stream, in bounded memory however many streams there are."""

import sqlite3
from hashlib import sha256
from types import TracebackType

HELD = 50_000
"""Streams in memory at most (some 15 MB); those met longest ago wait in a private temporary file."""

Stream = tuple[bytes, bytes]
"""Tenant and commit key, as an envelope spells them; very long ones by their hash (``stream_named``)."""

LONGEST_NAME = 4096
"""Bytes of a stream's name that are remembered as they are: a hostile file may hold names of any length."""


def stream_named(tenant: bytes, commit_key: bytes) -> Stream:
    """The stream with this name, spelled as in an envelope."""
    if len(tenant) + len(commit_key) <= LONGEST_NAME:
        return tenant, commit_key
    # Each is spelled with its quotation marks, so two names never run into one; nothing that is spelled begins so.
    return b"", b"#" + sha256(tenant + commit_key).hexdigest().encode()


class Seqs:
    """Remembers how far each stream has come. A context: leaving it removes the temporary file, if there was one."""

    def __init__(self, held: int = HELD) -> None:
        """``held``: streams in memory at most."""
        self._limit = held
        self._held: dict[Stream, int] = {}
        self._spilled: sqlite3.Connection | None = None

    def last(self, stream: Stream) -> int:
        """The seq that was last set for ``stream``; 0 before the first."""
        last = self._held.get(stream)
        if last is None:
            return 0 if self._spilled is None else self._found(self._spilled, stream)
        return last

    def set(self, stream: Stream, seq: int) -> None:
        """Remember ``seq`` as the last of ``stream``."""
        self._held[stream] = seq
        if len(self._held) > self._limit:
            self._spill()

    def __enter__(self) -> "Seqs":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spilled is not None:
            self._spilled.close()

    def _found(self, spilled: sqlite3.Connection, stream: Stream) -> int:
        row = spilled.execute("select seq from seqs where tenant = ? and commit_key = ?", stream).fetchone()
        return row[0] if row else 0

    def _spill(self) -> None:
        if self._spilled is None:
            # The empty name: SQLite keeps it in memory as far as its cache goes, then in a file that has no name.
            self._spilled = sqlite3.connect("", isolation_level=None)
            self._spilled.execute(
                "create table seqs (tenant blob, commit_key blob, seq integer,"
                " primary key (tenant, commit_key)) without rowid"
            )
        # A dict keeps the order of insertion: what comes first was met longest ago.
        oldest = list(self._held)[: len(self._held) // 2 + 1]
        rows = [(*stream, self._held.pop(stream)) for stream in oldest]
        self._spilled.execute("begin")
        self._spilled.executemany("insert or replace into seqs values (?, ?, ?)", rows)
        self._spilled.execute("commit")
