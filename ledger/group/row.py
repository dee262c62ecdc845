"""The row of a stream that somebody holds: waited for by the one who wants it, never by a group."""

from sqlalchemy import Connection, select

from ledger.schema import of_stream, streams
from ledger.sharding import StreamName


def await_row(connection: Connection, stream: StreamName) -> None:
    """Return when nobody else holds the row of ``stream``, or there is none; held until the transaction ends."""
    query = select(streams.c.seq).where(of_stream(streams, stream))
    connection.execute(query.with_for_update(key_share=True))
