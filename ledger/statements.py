"""Statements of a tool, run in a transaction of the ledger's: all of them or none, and nothing of the session stays changed.

What the database says against them is theirs; the transaction goes on without them.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb
from sqlalchemy import Connection, Engine

from effects.strict_json import MAX_INTEGER
from ledger.errors import LedgerUnavailable, StatementsBroken
from ledger.faults import ConnectionLost
from ledger.session import driver_connection, transaction

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

_SAVEPOINT = "commitgate_tool"
_SETTINGS = ("role", "search_path", "statement_timeout", "synchronous_commit")
_NOW = "select " + ", ".join(f"current_setting('{name}')" for name in _SETTINGS)
_BACK = "select " + ", ".join(f"set_config('{name}', %s, false)" for name in _SETTINGS)
_NARROWED = "select set_config('search_path', 'pg_catalog, pg_temp', true), set_config('role', %s, true)"
_LIMITED = "select set_config('statement_timeout', %s, true)"
_PASSES = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
_NO_ROLE = (errors.InsufficientPrivilege, errors.InvalidParameterValue, errors.UndefinedObject)


@dataclass(frozen=True, slots=True)
class Found:
    """What the last statement gave: its rows as JSON objects, and how many rows it touched."""

    rows: list[dict[str, object]]
    count: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The database refused a statement; nothing of the tool is left. ``sqlstate`` None: the driver refused it."""

    sqlstate: str | None
    message: str
    constraint: str | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """Nothing of the tool is left, and nothing is said against it. ``lasting``: at once again it would be the same."""

    because: str
    detail: str
    lasting: bool = False


def run_statements(
    connection: Connection,
    texts: Sequence[str],
    parameters: Mapping[str, object],
    *,
    role: str | None,
    seconds: float,
) -> Found | Failed | Undone:
    """Run ``texts``, bound to ``parameters`` (JSON values) by name, as ``role`` (None: as the login), within ``seconds``.

    Raises ``StatementsBroken`` where the connection breaks meanwhile, and what it raises where it was broken before.
    """
    driver = driver_connection(connection)
    driver.execute(f"savepoint {_SAVEPOINT}")
    before = driver.execute(_NOW).fetchone()
    assert before is not None  # noqa: S101 - it asks for one row
    with _told_if_broken(driver):
        try:
            found = _within(driver, texts, _bound(parameters), role or before[0], seconds)
            driver.execute(_BACK, before)
        except psycopg.Error as error:
            # Takes back every setting, too.
            driver.execute(f"rollback to savepoint {_SAVEPOINT}")
            return _judged(error)
        except _RoleRefused as refused:
            driver.execute(f"rollback to savepoint {_SAVEPOINT}")
            return Undone("role_refused", str(refused), lasting=True)
        driver.execute(f"release savepoint {_SAVEPOINT}")
        return found


def read_statements(
    engine: Engine,
    texts: Sequence[str],
    parameters: Mapping[str, object],
    *,
    role: str | None,
    seconds: float,
) -> Found | Failed | Undone:
    """As ``run_statements``, in a transaction of their own that is read only. Raises LedgerUnavailable."""
    try:
        with transaction(engine) as connection:
            connection.begin()
            driver_connection(connection).execute("set transaction read only")
            found = run_statements(connection, texts, parameters, role=role, seconds=seconds)
            connection.rollback()
            return found
    except ConnectionLost as error:
        raise LedgerUnavailable(str(error)) from error


@contextmanager
def _told_if_broken(driver: "psycopg.Connection[Any]") -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        if driver.closed:
            raise StatementsBroken(str(error)) from error
        raise


class _RoleRefused(Exception):
    pass


def _within(
    driver: "psycopg.Connection[Any]",
    texts: Sequence[str],
    bound: Mapping[str, object],
    role: str,
    seconds: float,
) -> Found:
    deadline = time.monotonic() + seconds
    found = Found([], 0)
    for text in texts:
        try:
            # Before each of them: none must stand on what another set.
            driver.execute(_NARROWED, (role,))
        except _NO_ROLE as error:
            raise _RoleRefused(error.diag.message_primary) from error
        left = max(1, round(1000 * (deadline - time.monotonic())))
        driver.execute(_LIMITED, (str(left),))
        found = _run(driver, text, bound)
    driver.execute("set constraints all immediate")
    return found


def _run(driver: "psycopg.Connection[Any]", text: str, bound: Mapping[str, object]) -> Found:
    # In a pipeline everything is sent by the protocol that takes one statement at a time.
    with driver.pipeline():
        cursor = driver.execute(text, bound)
    if cursor.description is None:
        return Found([], max(cursor.rowcount, 0))
    names = [column.name for column in cursor.description]
    return Found([_object(names, row) for row in cursor.fetchall()], max(cursor.rowcount, 0))


def _bound(parameters: Mapping[str, object]) -> dict[str, object]:
    return {
        name: Jsonb(value) if isinstance(value, dict | list) else value for name, value in parameters.items()
    }


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


def _judged(error: psycopg.Error) -> Failed | Undone:
    said = (error.diag.message_primary or str(error)).strip()
    if isinstance(error, errors.QueryCanceled):
        return Undone("timeout", said, lasting=True)
    if isinstance(error, _PASSES):
        return Undone("database_busy", said)
    return Failed(error.sqlstate, said, error.diag.constraint_name)
