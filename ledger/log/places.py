"""What the log's parts share: where the log stands, and how its errors come out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg import Error
from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from ledger.errors import LogMissing
from ledger.faults import RowHeld, unavailable
from ledger.log.schema import log

ORIGIN = "commitgate"


@dataclass(frozen=True, slots=True)
class LogState:
    """``log_id`` names the log for ever; ``size`` counts what is sealed and is the next log index."""

    log_id: str
    size: int

    @property
    def origin(self) -> str:
        """The first line of the log's checkpoints."""
        return f"{ORIGIN}/{self.log_id}"


def log_state(connection: Connection) -> LogState:
    """Where the log stands. Raises LogMissing where somebody deleted its row."""
    row = connection.execute(select(log.c.log_id, log.c.size)).one_or_none()
    if row is None:
        raise LogMissing
    return LogState(row.log_id, row.size)


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """A transaction, committed at the end of the block. Raises LedgerUnavailable, RowHeld."""
    try:
        with engine.begin() as connection:
            yield connection
    except LockNotAvailable as error:
        raise RowHeld(str(error)) from error
    except (DBAPIError, Error) as error:
        found = unavailable(error)
        if found is error:
            raise
        raise found from error
