"""Licences to dispatch: granting, closing and seizing them in the transaction of the events that say so.

They come last: the database checks a licence against the events, also those of the same transaction.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, func, insert, null, update

from ledger.change import BatchReplay, CloseLicence, Licence, SeizeLicence, SideRow
from ledger.errors import LeaseLost
from ledger.schema import dispatches, of_stream
from ledger.sharding import StreamName


def write_side(connection: Connection, stream: StreamName, row: SideRow) -> None:
    """Write one side row. Raises LeaseLost, and the database's refusals as the driver raises them."""
    match row:
        case Licence():
            _grant(connection, stream, row)
        case CloseLicence():
            _close(connection, stream, row)
        case SeizeLicence():
            _seize(connection, stream, row)
        case BatchReplay():
            raise TypeError("batches are kept for the whole group at once")


def extend_lease(
    connection: Connection, stream: StreamName, intent_id: str, attempt: int, epoch: int, seconds: float
) -> bool:
    """Move the end of a lease, counted from now. False where it is not held under ``epoch`` any more."""
    statement = update(dispatches).where(
        _licence(stream, intent_id, attempt), dispatches.c.epoch == epoch, dispatches.c.open
    )
    return connection.execute(statement.values(lease_until=_after(seconds))).rowcount == 1


def _grant(connection: Connection, stream: StreamName, licence: Licence) -> None:
    statement = insert(dispatches).values(
        **stream.columns(),
        intent_id=licence.intent_id,
        attempt=licence.attempt,
        branch=licence.branch,
        effect=licence.effect,
        once_key=licence.once_key,
        worker=licence.worker,
        epoch=licence.epoch,
        lease_until=_after(licence.lease_seconds),
        started_seq=licence.started_seq,
        open=True,
    )
    connection.execute(statement)


def _close(connection: Connection, stream: StreamName, row: CloseLicence) -> None:
    values: dict[str, object] = {"open": False}
    if row.unsent:
        values |= {"unsent": True, "once_key": null()}
    statement = update(dispatches).where(
        _licence(stream, row.intent_id, row.attempt), dispatches.c.epoch == row.epoch, dispatches.c.open
    )
    if row.worker is not None:
        statement = statement.where(dispatches.c.worker == row.worker)
    if connection.execute(statement.values(values)).rowcount != 1:
        raise LeaseLost(row.intent_id, row.attempt, row.epoch)


def _seize(connection: Connection, stream: StreamName, row: SeizeLicence) -> None:
    statement = update(dispatches).where(
        _licence(stream, row.intent_id, row.attempt),
        dispatches.c.epoch == row.seen_epoch,
        dispatches.c.open,
        dispatches.c.lease_until < func.clock_timestamp(),
    )
    if connection.execute(statement.values(epoch=row.seen_epoch + 1, open=False)).rowcount != 1:
        raise LeaseLost(row.intent_id, row.attempt, row.seen_epoch)


def _licence(stream: StreamName, intent_id: str, attempt: int) -> Any:
    return (
        of_stream(dispatches, stream)
        & (dispatches.c.intent_id == intent_id)
        & (dispatches.c.attempt == attempt)
    )


def _after(seconds: float) -> Any:
    return func.clock_timestamp() + timedelta(seconds=seconds)
