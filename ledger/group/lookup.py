"""What became of a COMMIT whose answer was lost: looked up, never guessed, and nothing is sent a second time."""

from psycopg.errors import UniqueViolation
from sqlalchemy import Connection, select

from ledger.draft import Record
from ledger.group.copying import copy_rows
from ledger.group.row import await_row
from ledger.group.statements import COPY_EVENTS
from ledger.schema import events, of_stream
from ledger.session import driver_connection
from ledger.sharding import StreamName


def was_written(connection: Connection, stream: StreamName, record: Record) -> bool:
    """Whether ``record`` is committed; asked after the connection was lost at its COMMIT.

    Its transaction may still be running. Writing the same row again waits for that to end, and is rolled
    back; so a False means never. A True means durable, as an answer to COMMIT does.
    """
    while True:
        query = select(events.c.salt, events.c.payload_digest).where(
            of_stream(events, stream), events.c.seq == record.event.seq
        )
        row = connection.execute(query).one_or_none()
        if row is not None:
            _make_durable(connection, stream)
            return bytes(row.payload_digest) == record.digest
        try:
            with driver_connection(connection).cursor() as cursor, cursor.copy(COPY_EVENTS) as copy:
                copy.write(copy_rows(stream, (record,)))
        except UniqueViolation:
            connection.rollback()
        else:
            connection.rollback()
            return False


def _make_durable(connection: Connection, stream: StreamName) -> None:
    """Return when everything that can be read is as durable as a COMMIT makes it.

    A backend that is ended while it waits for a standby leaves its rows to be read on the primary alone. Standbys get the
    log in its order, so a later COMMIT waits for those rows, too; it has to have written something.
    """
    await_row(connection, stream)
    connection.commit()
