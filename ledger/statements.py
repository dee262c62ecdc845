"""Statements of a tool, run in a transaction of the ledger's: all of them or none, and nothing of the session stays changed.

What the database says against them is theirs; the transaction goes on without them.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb
from sqlalchemy import Connection, Engine

from ledger.errors import LedgerUnavailable, StatementsBroken
from ledger.faults import ConnectionLost
from ledger.rows import Found, TooLate, fetched
from ledger.session import driver_connection, transaction

_SAVEPOINT = "commitgate_tool"
_SETTINGS = ("role", "search_path", "statement_timeout", "synchronous_commit")
_NOW = "select " + ", ".join(f"current_setting('{name}')" for name in _SETTINGS)
_BACK = "select " + ", ".join(f"set_config('{name}', %s, false)" for name in _SETTINGS)
_NARROWED = "select set_config('search_path', 'pg_catalog, pg_temp', true), set_config('role', %s, true)"
_LIMITED = "select set_config('statement_timeout', %s, true)"
_PASSES = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
_NO_ROLE = (errors.InsufficientPrivilege, errors.InvalidParameterValue, errors.UndefinedObject)


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
    most: int,
) -> Found | Failed | Undone:
    """Run ``texts``, bound to ``parameters`` (JSON values) by name, as ``role`` (None: as the login), within ``seconds``.

    Rows are kept until they are more than ``most`` bytes as canonical JSON; the statement runs to its end all the same.
    Raises ``StatementsBroken`` where the connection breaks meanwhile, and what it raises where it was broken before.
    """
    driver = driver_connection(connection)
    driver.execute(f"savepoint {_SAVEPOINT}")
    before = driver.execute(_NOW).fetchone()
    assert before is not None  # noqa: S101 - it asks for one row
    with _told_if_broken(driver):
        try:
            found = _within(driver, texts, _bound(parameters), role or before[0], seconds, most)
            driver.execute(_BACK, before)
        except psycopg.Error as error:
            # Takes back every setting, too.
            driver.execute(f"rollback to savepoint {_SAVEPOINT}")
            return _judged(error)
        except _RoleRefused as refused:
            driver.execute(f"rollback to savepoint {_SAVEPOINT}")
            return Undone("role_refused", str(refused), lasting=True)
        except TooLate:
            driver.execute(f"rollback to savepoint {_SAVEPOINT}")
            return Undone("timeout", "reading the rows took too long", lasting=True)
        driver.execute(f"release savepoint {_SAVEPOINT}")
        return found


def read_statements(
    engine: Engine,
    texts: Sequence[str],
    parameters: Mapping[str, object],
    *,
    role: str | None,
    seconds: float,
    most: int,
) -> Found | Failed | Undone:
    """As ``run_statements``, in a transaction of their own that is read only. Raises LedgerUnavailable."""
    try:
        with transaction(engine) as connection:
            connection.begin()
            driver_connection(connection).execute("set transaction read only")
            found = run_statements(connection, texts, parameters, role=role, seconds=seconds, most=most)
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
    most: int,
) -> Found:
    deadline = time.monotonic() + seconds
    found = Found([], 0)
    for number, text in enumerate(texts, 1):
        try:
            # Before each of them: none must stand on what another set.
            driver.execute(_NARROWED, (role,))
        except _NO_ROLE as error:
            raise _RoleRefused(error.diag.message_primary) from error
        left = max(1, round(1000 * (deadline - time.monotonic())))
        driver.execute(_LIMITED, (str(left),))
        # What is not the answer need not be held.
        found = fetched(driver, text, bound, deadline, most if number == len(texts) else 0)
    driver.execute("set constraints all immediate")
    return found


def _bound(parameters: Mapping[str, object]) -> dict[str, object]:
    return {
        name: Jsonb(value) if isinstance(value, dict | list) else value for name, value in parameters.items()
    }


def _judged(error: psycopg.Error) -> Failed | Undone:
    said = (error.diag.message_primary or str(error)).strip()
    if isinstance(error, errors.QueryCanceled):
        return Undone("timeout", said, lasting=True)
    if isinstance(error, _PASSES):
        return Undone("database_busy", said)
    return Failed(error.sqlstate, said, error.diag.constraint_name)
