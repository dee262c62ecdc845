"""Events planted straight into the tables, as the writer leaves them: events and the stream's row in one transaction."""

import hashlib
from datetime import UTC, datetime, timedelta
from itertools import count

import psycopg
from sqlalchemy import Engine, text

from ledger.evidence.envelope import envelope
from ledger.evidence.tree import leaf_hash, node_hash
from ledger.log.sealer import STILL_ROUNDS, Sealer
from ledger.sharding import StreamName

TENANT = "t"
START = datetime(2025, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
_NUMBERS = count()

_EVENTS = """
copy ledger.events (shard, tenant, commit_key, seq, type, branch, at, payload, salt, payload_digest) from stdin
"""
_STREAM = """
insert into ledger.streams (shard, tenant, commit_key, seq, writer_epoch) values (%s, %s, %s, %s, 1)
on conflict (shard, tenant, commit_key) do update set seq = excluded.seq, unsealed = true
"""


def plant(
    connection: psycopg.Connection, key: str, first: int, last: int, *, at: datetime | None = None
) -> None:
    """Events ``first`` to ``last`` of a stream, in the transaction of ``connection``; the caller commits."""
    name = StreamName.of(TENANT, key)
    names = (name.shard, name.tenant, name.commit_key)
    with connection.cursor() as cursor:
        cursor.execute(_STREAM, (*names, last))
        with cursor.copy(_EVENTS) as copy:
            for seq in range(first, last + 1):
                number = next(_NUMBERS)
                payload, salt = f'{{"n":{number}}}', number.to_bytes(16, "big")
                digest = hashlib.sha256(salt + payload.encode()).digest()
                moment = at or START + timedelta(microseconds=number)
                copy.write_row((*names, seq, "tokens.drafted", "main", moment, payload, salt, digest))


def checkpoint(engine: Engine, size: int) -> None:
    """A checkpoint of the first ``size`` events, signed by nobody."""
    note = f"'commitgate/' || log_id || E'\\n{size}\\nnote'"
    with engine.begin() as connection:
        connection.execute(
            text(f"insert into ledger.checkpoints select {size}, {note}, now() from ledger.log")
        )


def raw(engine: Engine) -> psycopg.Connection:
    """A connection of the driver's, outside the pool."""
    return psycopg.connect(engine.url.set(drivername="postgresql").render_as_string(hide_password=False))


def places(engine: Engine) -> list[tuple[int, str, int]]:
    """(index, commit key, seq) of every sealed event by log order, from the seals alone."""
    query = text("select commit_key, first_seq, last_seq, first_index from ledger.seals order by first_index")
    with engine.connect() as connection:
        return [
            (first_index + place, key, first_seq + place)
            for key, first_seq, last_seq, first_index in connection.execute(query)
            for place in range(last_seq - first_seq + 1)
        ]


def committed(engine: Engine) -> set[tuple[str, int]]:
    """(commit key, seq) of every event that is there."""
    with engine.connect() as connection:
        return {
            (key, seq) for key, seq in connection.execute(text("select commit_key, seq from ledger.events"))
        }


def leaves(engine: Engine) -> list[bytes]:
    """Leaf hashes in log order, made in Python from the events' columns."""
    query = text("select * from ledger.events")
    with engine.connect() as connection:
        rows = {(row["commit_key"], row["seq"]): dict(row) for row in connection.execute(query).mappings()}
    hashes = []
    for _, key, seq in places(engine):
        row = rows[key, seq]
        for column in ("shard", "payload", "salt"):
            del row[column]
        hashes.append(leaf_hash(envelope(**row)))
    return hashes


def naive_root(hashes: list[bytes]) -> bytes:
    """Merkle tree hash by the definition of RFC 9162, 2.1.1."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return node_hash(naive_root(hashes[:split]), naive_root(hashes[split:]))


def check_log(engine: Engine) -> int:
    """The log is whole: every committed event once, indexes without gaps, seq order in streams, tree as computed anew.

    AssertionError where it is not. The number of events.
    """
    from ledger.evidence.tiles import root
    from ledger.log.store import tile_reader

    found = places(engine)
    assert [index for index, _, _ in found] == list(range(len(found)))
    given, there = [(key, seq) for _, key, seq in found], committed(engine)
    assert (len(set(given)), there - set(given), set(given) - there) == (len(given), set(), set())
    last: dict[str, int] = {}
    for _, key, seq in found:
        assert seq == last.get(key, 0) + 1
        last[key] = seq
    with engine.connect() as connection:
        assert connection.execute(text("select size from ledger.log")).scalar_one() == len(found)
        assert root(tile_reader(connection), len(found)) == naive_root(leaves(engine))
    return len(found)


def stand_still(sealer: Sealer) -> None:
    """So many rounds without an event that the marks go."""
    assert [sealer.round().events for _ in range(STILL_ROUNDS)] == [0] * STILL_ROUNDS


def marked(engine: Engine) -> list[str]:
    """Commit keys of the streams that bear the sealer's mark."""
    with engine.connect() as connection:
        query = text("select commit_key from ledger.streams where unsealed order by commit_key")
        return list(connection.execute(query).scalars())
