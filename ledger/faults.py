"""What an error of the database means for a transaction that was about to append."""

import psycopg
from psycopg import errors
from sqlalchemy.exc import DBAPIError

from ledger.errors import BatchIdTaken, LedgerUnavailable, LicenceRefused, UnwritableValue


class Conflict(Exception):
    """Nothing was written because somebody else was faster: read again, decide again."""


class RowHeld(Conflict):
    """Somebody holds a row for longer than a group waits; nothing was written."""


class ConnectionLost(Exception):
    """The connection broke. Before COMMIT nothing is written; at COMMIT it has to be looked up."""


_SAME_SEQ = frozenset({"events_pkey", "streams_pkey"})
_LICENCE = frozenset({"dispatches_once", "dispatches_pkey"})
_TAKE_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)


def driver_error(error: BaseException) -> psycopg.Error | None:
    """The driver's error in ``error``, whether SQLAlchemy has wrapped it or not."""
    inner = error.orig if isinstance(error, DBAPIError) else error
    return inner if isinstance(inner, psycopg.Error) else None


def meaning(error: BaseException, *, closed: bool = False) -> BaseException:
    """What ``error`` means, as something to raise; ``error`` itself where it means nothing in particular.

    ``closed``: whether the driver's connection is found closed after it.
    """
    fault = driver_error(error)
    if fault is None:
        return error
    constraint = fault.diag.constraint_name or ""
    if isinstance(fault, errors.LockNotAvailable):
        return RowHeld(str(fault))
    if isinstance(fault, _TAKE_AGAIN) or (
        isinstance(fault, errors.UniqueViolation) and constraint in _SAME_SEQ
    ):
        return Conflict(str(fault))
    if isinstance(fault, errors.UniqueViolation) and constraint == "batches_pkey":
        return BatchIdTaken("a batch of this name is recorded already")
    if _refuses_licence(fault, constraint):
        return LicenceRefused(fault.diag.message_primary or str(fault), constraint)
    if closed or isinstance(fault, psycopg.OperationalError):
        return ConnectionLost(str(fault))
    if isinstance(fault, psycopg.DataError):
        return UnwritableValue(f"the database cannot hold a value: {fault}")
    return error


def unavailable(error: BaseException) -> BaseException:
    """As ``meaning``, for single statements: LedgerUnavailable where the database did not answer."""
    found = meaning(error)
    return LedgerUnavailable(str(found)) if isinstance(found, Conflict | ConnectionLost) else found


def _refuses_licence(fault: psycopg.Error, constraint: str) -> bool:
    if isinstance(fault, errors.UniqueViolation):
        return constraint in _LICENCE
    return isinstance(fault, errors.CheckViolation) and constraint.startswith(("licence_", "dispatches_"))
