"""Licences to dispatch: granting, closing and seizing them in the transaction of the events that say so.

They come last: the database checks a licence against the events, also those of the same transaction.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, update

from ledger.change import CloseLicence, Licence, SeizeLicence, SideRow
from ledger.errors import LeaseLost
from ledger.group.statements import CLOSE_LICENCES, GRANT_LICENCES, rows_json
from ledger.schema import dispatches, of_stream
from ledger.sharding import StreamName

if TYPE_CHECKING:
    import psycopg


Placed = tuple[int, StreamName, SideRow]
"""A side row, its stream, and the place of its draft in the group."""


class NotHeld(Exception):
    """A lease is lost: ``error``, at ``place`` of the group."""

    def __init__(self, place: int, error: LeaseLost) -> None:
        super().__init__(str(error))
        self.place = place
        self.error = error


def write_side(connection: Connection, driver: "psycopg.Connection[Any]", rows: Sequence[Placed]) -> None:
    """Write side rows, one statement for all of a kind.

    Raises NotHeld where a lease is lost, and the database's refusals as the driver raises them: those tell of one row, and
    only a row that is written alone tells of which.
    """
    granted = [_granted(stream, row) for _place, stream, row in rows if isinstance(row, Licence)]
    if granted:
        driver.execute(GRANT_LICENCES, (rows_json(granted),))
    closing = {
        (*stream.columns().values(), row.intent_id, row.attempt): (place, stream, row)
        for place, stream, row in rows
        if isinstance(row, CloseLicence)
    }
    if closing:
        told = [_closed(stream, row) for _place, stream, row in closing.values()]
        for found in driver.execute(CLOSE_LICENCES, (rows_json(told),)):
            del closing[tuple(found)]
        for place, _stream, row in closing.values():
            raise NotHeld(place, LeaseLost(row.intent_id, row.attempt, row.epoch))
    for place, stream, seized in rows:
        if isinstance(seized, SeizeLicence):
            _seize(connection, place, stream, seized)


def extend_lease(
    connection: Connection, stream: StreamName, intent_id: str, attempt: int, epoch: int, seconds: float
) -> bool:
    """Move the end of a lease, counted from now. False where it is not held under ``epoch`` any more."""
    statement = update(dispatches).where(
        _licence(stream, intent_id, attempt), dispatches.c.epoch == epoch, dispatches.c.open
    )
    return connection.execute(statement.values(lease_until=_after(seconds))).rowcount == 1


def _granted(stream: StreamName, licence: Licence) -> dict[str, object]:
    return {
        **stream.columns(),
        "intent_id": licence.intent_id,
        "attempt": licence.attempt,
        "branch": licence.branch,
        "effect": licence.effect,
        "once_key": licence.once_key,
        "worker": licence.worker,
        "epoch": licence.epoch,
        "lease_seconds": licence.lease_seconds,
        "started_seq": licence.started_seq,
    }


def _closed(stream: StreamName, row: CloseLicence) -> dict[str, object]:
    return {
        **stream.columns(),
        "intent_id": row.intent_id,
        "attempt": row.attempt,
        "epoch": row.epoch,
        "worker": row.worker,
        "unsent": row.unsent,
    }


def _seize(connection: Connection, place: int, stream: StreamName, row: SeizeLicence) -> None:
    statement = update(dispatches).where(
        _licence(stream, row.intent_id, row.attempt),
        dispatches.c.epoch == row.seen_epoch,
        dispatches.c.open,
        dispatches.c.lease_until < func.clock_timestamp(),
    )
    values: dict[str, object] = {"epoch": row.seen_epoch + 1, "open": False}
    if row.unsent:
        values |= {"unsent": True, "once_key": None}
    if connection.execute(statement.values(values)).rowcount != 1:
        raise NotHeld(place, LeaseLost(row.intent_id, row.attempt, row.seen_epoch))


def _licence(stream: StreamName, intent_id: str, attempt: int) -> Any:
    return (
        of_stream(dispatches, stream)
        & (dispatches.c.intent_id == intent_id)
        & (dispatches.c.attempt == attempt)
    )


def _after(seconds: float) -> Any:
    return func.clock_timestamp() + timedelta(seconds=seconds)
