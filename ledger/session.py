"""Transactions and single statements on the pool; what the database raises comes out with its meaning."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from ledger.faults import meaning, unavailable

if TYPE_CHECKING:
    import psycopg


def driver_connection(connection: Connection) -> "psycopg.Connection[Any]":
    """Psycopg's own connection under ``connection``."""
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """A connection for one transaction, which the block commits. Raises what ``ledger.faults.meaning`` gives."""
    driver = None
    try:
        with engine.connect() as connection:
            driver = driver_connection(connection)
            try:
                yield connection
            except BaseException:
                if driver.closed and not connection.invalidated:
                    connection.invalidate()
                raise
    except Exception as error:
        found = meaning(error, closed=driver is not None and driver.closed)
        if found is error:
            raise
        raise found from error


@contextmanager
def single(engine: Engine) -> Iterator[Connection]:
    """A connection on which each statement is a transaction of its own. Raises LedgerUnavailable."""
    try:
        with engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")
    except DBAPIError as error:
        found = unavailable(error)
        if found is error:
            raise
        raise found from error
