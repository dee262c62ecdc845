"""The floors: a one-connection COPY of the byte-identical event rows that a run wrote, and a commit of one row."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import psycopg

from bench.server import libpq

ROWS_A_COMMIT = 1000
ONE_ROW_COMMITS = 300

_COLUMNS = (
    "shard, tenant, commit_key, seq, type, branch, intent_id, attempt, head_after, cut_at, at, payload, salt,"
    " payload_digest"
)

_INTO = f"copy bench_floor ({_COLUMNS}) from stdin"


class Floor:
    """A table like ``ledger.events``, indexes and checks included, into which the rows of a run are copied again."""

    def __init__(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        self._connection = connection

    def rows(self, tenant: str, limit: int) -> list[bytes]:
        """At most ``limit`` rows that were written for ``tenant``, as COPY text, in the order in which they lie."""
        query = f"copy (select {_COLUMNS} from ledger.events where tenant = %s limit %s) to stdout"
        with self._connection.cursor() as cursor, cursor.copy(query, (tenant, limit)) as copy:
            return [bytes(line) for line in copy]

    def rate(self, rows: list[bytes]) -> float:
        """Rows a second, ``ROWS_A_COMMIT`` a commit."""
        chunks = [b"".join(rows[at : at + ROWS_A_COMMIT]) for at in range(0, len(rows), ROWS_A_COMMIT)]
        self._connection.execute("truncate bench_floor")
        begin = time.perf_counter()
        for chunk in chunks:
            with self._connection.cursor() as cursor, cursor.copy(_INTO) as copy:
                copy.write(chunk)
        return len(rows) / (time.perf_counter() - begin)

    def one_row_commit(self) -> float:
        """Median seconds of an autocommit INSERT of one small row."""
        self._connection.execute("truncate bench_floor")
        statement = (
            "insert into bench_floor (shard, tenant, commit_key, seq, type, at, payload, salt, payload_digest)"
            " values (1, 't', 'k', %s, 'x', now(), '{}', decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'))"
        )
        taken = []
        for seq in range(1, ONE_ROW_COMMITS + 1):
            begin = time.perf_counter()
            self._connection.execute(statement, (seq,))
            taken.append(time.perf_counter() - begin)
        return median(taken)


@contextmanager
def floor(admin_url: str) -> Iterator[Floor]:
    """A floor in the database of ``admin_url``, on one connection of its own."""
    with psycopg.connect(libpq(admin_url), autocommit=True) as connection:
        connection.execute("drop table if exists bench_floor")
        connection.execute("create table bench_floor (like ledger.events including all)")
        yield Floor(connection)
        connection.execute("drop table bench_floor")
