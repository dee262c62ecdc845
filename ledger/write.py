"""The statements of one append: events by COPY on the driver's connection, projections, then side rows.

Side rows come last: the database checks a licence against the events, also those of the same transaction. Every
statement names the shard.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from psycopg.errors import UniqueViolation
from sqlalchemy import Connection, Table, func, insert, null, select, update
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.dialects.postgresql import insert as upsert

from ledger.change import BatchReplay, CloseLicence, Licence, SeizeLicence, SideRow
from ledger.draft import Draft, Record
from ledger.errors import LeaseLost
from ledger.faults import Conflict
from ledger.schema import batches, branches, dispatches, events, intents, of_stream, streams
from ledger.sharding import StreamName
from ledger.state import StreamState

if TYPE_CHECKING:
    import psycopg

_COPY = (
    "copy ledger.events (shard, tenant, commit_key, seq, type, branch, intent_id, attempt, head_after,"
    " cut_at, at, payload, salt, payload_digest) from stdin"
)


def driver_connection(connection: Connection) -> "psycopg.Connection[Any]":
    """Psycopg's own connection under ``connection``."""
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


def write(connection: Connection, draft: Draft) -> None:
    """Write all of ``draft`` in the transaction of ``connection``; the caller commits.

    Raises Conflict where the stream moved on, LeaseLost, and the database's refusals as the driver raises
    them.
    """
    # The stream's row comes first: whoever comes second waits here and finds it moved, which is no error in the
    # server's log. The events' primary key is the check all the same.
    _move_stream(connection, draft)
    if draft.records:
        _copy(connection, draft.stream, draft.records)
        _upsert(connection, branches, draft.stream, draft.rows.branches)
        _upsert(connection, intents, draft.stream, draft.rows.intents)
    for row in draft.side:
        _write_side(connection, draft.stream, row, draft.after)


def was_written(connection: Connection, stream: StreamName, record: Record) -> bool:
    """Whether ``record`` is committed; asked after the connection was lost at its COMMIT.

    Its transaction may still be running. Writing the same row again waits for that to end, and is rolled
    back; so a False means never.
    """
    while True:
        query = select(events.c.salt, events.c.payload_digest).where(
            of_stream(events, stream), events.c.seq == record.event.seq
        )
        row = connection.execute(query).one_or_none()
        if row is not None:
            return bytes(row.salt or b"") == record.salt and bytes(row.payload_digest) == record.digest
        try:
            _copy(connection, stream, (record,))
        except UniqueViolation:
            connection.rollback()
        else:
            connection.rollback()
            return False


def extend_lease(
    connection: Connection, stream: StreamName, intent_id: str, attempt: int, epoch: int, seconds: float
) -> bool:
    """Move the end of a lease, counted from now. False where it is not held under ``epoch`` any more."""
    statement = update(dispatches).where(
        _licence(stream, intent_id, attempt), dispatches.c.epoch == epoch, dispatches.c.open
    )
    return connection.execute(statement.values(lease_until=_after(seconds))).rowcount == 1


def _copy(connection: Connection, stream: StreamName, records: tuple[Record, ...]) -> None:
    name = (stream.shard, stream.tenant, stream.commit_key)
    with driver_connection(connection).cursor() as cursor, cursor.copy(_COPY) as copy:
        for record in records:
            event = record.event
            place = (event.seq, event.type.value, event.branch, event.intent_id, event.attempt)
            tokens = (event.head_after, event.cut_at)
            copy.write_row((*name, *place, *tokens, event.at, record.text, record.salt, record.digest))


def _move_stream(connection: Connection, draft: Draft) -> None:
    row = {**draft.rows.stream, **draft.stream.columns(), "unsealed": True}
    if draft.before.seq == 0:
        connection.execute(insert(streams), row)
        return
    statement = update(streams).where(of_stream(streams, draft.stream), streams.c.seq == draft.before.seq)
    if connection.execute(statement.values(row)).rowcount != 1:
        raise Conflict(f"stream {draft.stream.commit_key!r} is no longer at {draft.before.seq}")


def _upsert(
    connection: Connection, table: Table, stream: StreamName, rows: tuple[dict[str, object], ...]
) -> None:
    if rows:
        connection.execute(_UPSERTS[table.name], [{**row, **stream.columns()} for row in rows])


def _upsert_of(table: Table) -> Insert:
    statement = upsert(table)
    key = [column.name for column in table.primary_key]
    return statement.on_conflict_do_update(
        index_elements=key,
        set_={column.name: statement.excluded[column.name] for column in table.c if column.name not in key},
    )


_UPSERTS = {table.name: _upsert_of(table) for table in (branches, intents)}


def _write_side(connection: Connection, stream: StreamName, row: SideRow, after: StreamState) -> None:
    match row:
        case Licence():
            _grant(connection, stream, row)
        case CloseLicence():
            _close(connection, stream, row)
        case SeizeLicence():
            _seize(connection, stream, row)
        case BatchReplay():
            response = row.response if isinstance(row.response, str) else row.response(after)
            values = {"batch_id": row.batch_id, "body_digest": row.body_digest, "response": response}
            connection.execute(insert(batches), {**stream.columns(), **values})


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
