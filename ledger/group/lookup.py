"""What became of a COMMIT whose answer was lost: looked up, never guessed, and nothing is sent a second time."""

from psycopg.errors import UniqueViolation
from sqlalchemy import Connection, select

from ledger.draft import Record
from ledger.group.copying import copy_rows
from ledger.group.statements import COPY_EVENTS
from ledger.schema import events, of_stream
from ledger.session import driver_connection
from ledger.sharding import StreamName


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
            return bytes(row.payload_digest) == record.digest
        try:
            with driver_connection(connection).cursor() as cursor, cursor.copy(COPY_EVENTS) as copy:
                copy.write(copy_rows(stream, (record,)))
        except UniqueViolation:
            connection.rollback()
        else:
            connection.rollback()
            return False
