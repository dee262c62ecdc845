"""A tool's log, ready to be asked about streams: kept on disk while it is used, so that its size does not matter."""

import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from ledger.reconcile.evidence import LogEntry
from ledger.reconcile.logfile import Arrived, read_log

_COLUMNS = "line, tool, commit_key, intent_id, idempotency_key, arguments, effect, at"
_TABLE = """
create table entries (line integer primary key, tool text, commit_key text, intent_id text, idempotency_key text,
    arguments text, effect integer, at real, n text, matched integer not null default 0);
create index entries_by_commit_key on entries (commit_key);
create index entries_by_intent on entries (intent_id);
create index entries_by_key on entries (idempotency_key);
create index entries_by_n on entries (n);
"""
_Row = tuple[int, str | None, str | None, str | None, str | None, str | None, int | None, float | None]


class ToolLog:
    """The entries of one log file. Use it as a context manager: leaving it removes its working copy.

    ``complete``: the log holds every request that the tools were ever sent, so what is absent did not arrive; with
    ``tools``, only for these.
    """

    def __init__(self, path: Path, *, complete: bool = False, tools: Collection[str] | None = None) -> None:
        """Read the log at ``path`` (formats: ``ledger.reconcile.logfile``). Raises ``ToolLogRefused``."""
        self._complete = complete
        self._tools = None if tools is None else frozenset(tools)
        self._folder = tempfile.TemporaryDirectory(prefix="commitgate-reconcile-")
        self._entries = sqlite3.connect(Path(self._folder.name) / "entries.db")
        try:
            self._entries.executescript("pragma journal_mode=off; pragma synchronous=off;" + _TABLE)
            self._load(path)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """The log itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Remove the working copy."""
        self._entries.close()
        self._folder.cleanup()

    def complete_for(self, tool: str) -> bool:
        """Whether what is absent here never arrived at ``tool``."""
        return self._complete and (self._tools is None or tool in self._tools)

    def about(self, commit_key: str, intent_ids: Collection[str], keys: Collection[str]) -> list[LogEntry]:
        """The entries under this commit key, intent ids or idempotency keys, by line."""
        found: dict[int, LogEntry] = {}
        asked = [("commit_key", commit_key), *(("intent_id", i) for i in intent_ids)]
        for column, value in (*asked, *(("idempotency_key", key) for key in keys)):
            for entry in self._where(column, value):
                found[entry.line] = entry
        return [found[line] for line in sorted(found)]

    def match(self, lines: Collection[int]) -> None:
        """Take note that these entries belong to intents of the ledger."""
        self._entries.executemany("update entries set matched = 1 where line = ?", ((n,) for n in lines))

    def unmatched(self, *, after: int, limit: int) -> list[LogEntry]:
        """Up to ``limit`` entries beyond line ``after`` that nobody has matched, by line."""
        query = f"select {_COLUMNS} from entries where not matched and line > ? order by line limit ?"  # noqa: S608
        return list(map(_entry, self._entries.execute(query, (after, limit))))

    def _where(self, column: str, value: str) -> Iterator[LogEntry]:
        # The column is one of three constants above, never a caller's text.
        query = f"select {_COLUMNS} from entries where {column} = ?"  # noqa: S608
        return map(_entry, self._entries.execute(query, (value,)))

    def _load(self, path: Path) -> None:
        for line in read_log(path):
            if not isinstance(line, Arrived):
                effect = (line.effect, line.n)
                # The last one of this number: a log that was begun anew may count from 1 again.
                self._entries.execute(
                    "update entries set effect = ? where line = (select max(line) from entries where n = ?)",
                    effect,
                )
                continue
            told = line.entry
            names = (told.tool, told.commit_key, told.intent_id, told.idempotency_key)
            values = (told.line, *names, told.arguments, told.effect, told.at, line.n)
            self._entries.execute(
                f"insert into entries ({_COLUMNS}, n) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                values,
            )
        self._entries.commit()


def _entry(row: _Row) -> LogEntry:
    line, tool, commit_key, intent_id, key, arguments, effect, at = row
    said = None if effect is None else bool(effect)
    return LogEntry(line, tool, commit_key, intent_id, key, arguments, said, at)
