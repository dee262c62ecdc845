"""What one statement of a tool gives, read as it comes: no more of it is held than is kept.

The driver holds a result whole before it shows a row, and the server's own limit ends with the last row that it sent.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import capabilities, errors, generators
from psycopg.adapt import Transformer
from psycopg.pq import ExecStatus

from effects.canonical import canonical
from effects.strict_json import MAX_INTEGER, JSONRefused

if TYPE_CHECKING:
    from psycopg import abc
    from psycopg.pq.abc import PGresult
    from psycopg.rows import TupleRow

CHUNK = 64
"""Rows that the driver holds at once, where its libpq can do that; else one."""

_ROWS = (ExecStatus.SINGLE_TUPLE, ExecStatus.TUPLES_CHUNK, ExecStatus.TUPLES_OK)
_DONE = (ExecStatus.COMMAND_OK, ExecStatus.EMPTY_QUERY)


@dataclass(frozen=True, slots=True)
class Found:
    """What the last statement gave: its rows as JSON objects, and how many rows it touched. ``cut``: there were more."""

    rows: list[dict[str, object]]
    count: int
    cut: bool = False


class TooLate(Exception):
    """The statement is through, but reading what it gave took longer than it may."""


def fetched(
    driver: "psycopg.Connection[Any]", text: str, bound: Mapping[str, object], deadline: float, most: int
) -> Found:
    """Run ``text`` to its end; keep rows until they are more than ``most`` bytes as canonical JSON.

    ``deadline``: monotonic seconds. Raises ``TooLate`` and what the driver raises.
    """
    reading = _Reading(Transformer(driver), deadline, most)
    for result in _results(driver, text, bound):
        reading.take(result)
    return reading.found()


class _Reading:
    """Rows on their way from results to what is kept."""

    def __init__(self, transformer: "abc.Transformer", deadline: float, most: int) -> None:
        self._transformer = transformer
        self._deadline = deadline
        self._left = most
        self._names: list[str] | None = None
        self._rows: list[dict[str, object]] = []
        self._seen = 0
        self._touched = 0
        self._late = False
        self._failed: Exception | None = None

    def take(self, result: "PGresult") -> None:
        """The next result. Once it is too late, or enough, the rest is let go, for only the server can end its statement."""
        if result.nfields and self._names is None:
            self._names = [(result.fname(at) or b"").decode() for at in range(result.nfields)]
        self._seen += result.ntuples
        # Behind rows that came in pieces libpq does not say how many they were.
        self._touched = self._seen if result.nfields else result.command_tuples or 0
        try:
            self._keep(result)
        except Exception as error:  # noqa: BLE001 - raised when all is read: the connection is of no use before
            # A value that Python cannot hold, mostly.
            self._failed, self._left = error, -1

    def _keep(self, result: "PGresult") -> None:
        if self._left < 0 or result.ntuples == 0:
            return
        self._transformer.set_pgresult(result)
        for at in range(result.ntuples):
            self._late = self._late or time.monotonic() > self._deadline
            if self._late or self._left < 0:
                break
            row = _object(self._names or [], self._transformer.load_row(at, tuple) or ())
            self._rows.append(row)
            self._left -= _size(row) + 1

    def found(self) -> Found:
        """All of it. Raises TooLate, and what the driver says of a value."""
        if self._failed is not None:
            raise self._failed
        if self._late or time.monotonic() > self._deadline:
            raise TooLate
        return Found(self._rows, self._touched, cut=len(self._rows) < self._seen)


def _results(
    driver: "psycopg.Connection[Any]", text: str, bound: Mapping[str, object]
) -> Iterator["PGresult"]:
    size = CHUNK if capabilities.has_stream_chunked() else 1
    with driver.lock:
        # By the protocol that takes one statement at a time. What ``Cursor.stream`` itself reads has to give rows.
        driver.wait(driver.cursor()._stream_send_gen(text, bound, size=size))
        failed: psycopg.Error | None = None
        while (result := driver.wait(generators.fetch(driver.pgconn))) is not None:
            if result.status in _ROWS or result.status in _DONE:
                yield result
            else:
                failed = errors.error_from_result(result, driver.info.encoding)
    if failed is not None:
        raise failed


def _size(row: dict[str, object]) -> int:
    try:
        return len(canonical(row))
    except JSONRefused:
        return len(repr(row))


def _object(names: Sequence[str], row: "TupleRow") -> dict[str, object]:
    return {name: _json(value) for name, value in zip(names, row, strict=True)}


def _json(value: object) -> object:
    """A value of a column as JSON carries it: what a double would round, or JSON does not have, becomes text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_INTEGER else str(value)
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, dict):
        return {str(name): _json(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_json(element) for element in value]
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, datetime | date | time_of_day):
        return value.isoformat()
    return f"{value.total_seconds():g} s" if isinstance(value, timedelta) else str(value)
