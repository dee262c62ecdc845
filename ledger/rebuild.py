"""Rebuilding projections from events: what the fold makes of each stream, beside or in place of the rows that are there.

Licences, batch replays and pauses are no projections and are never touched (design.md, "The ledger"). One stream is in
memory at a time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, Table, delete, exists, insert, select

from ledger.fold import fold, initial
from ledger.projection import Row, rows
from ledger.read import read_events
from ledger.reconcile.cursor import read_cursor
from ledger.reconcile.walk import Scope, Walk
from ledger.schema import branches, events, intents, of_stream, streams
from ledger.sharding import SHARDS, StreamName

PROJECTIONS = (streams, branches, intents)
PAGE = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """A stream of which one projection is not what its events amount to."""

    tenant: str
    commit_key: str
    table: str
    detail: str


def check(engine: Engine, progress: Callable[[int], None] = lambda _streams: None) -> Iterator[Difference]:
    """Every difference between projections and events, stream by stream; nothing is changed.

    ``progress`` is told how many streams are through. Raises ``BrokenHistory`` where events do not follow one another.
    """
    for count, name in enumerate(_names(engine), 1):
        with engine.connect() as connection:
            yield from _compare(name, _found(connection, name), _expected(connection, name))
        progress(count)
    with engine.connect() as connection:
        for table in PROJECTIONS:
            for name in _without_events(connection, table):
                yield Difference(name.tenant, name.commit_key, table.name, "a row of a stream without events")


def rebuild(engine: Engine, progress: Callable[[int], None] = lambda _streams: None) -> int:
    """Write every projection anew from events, one transaction a stream; the number of streams.

    Appends to a stream wait while it is rebuilt. Raises ``BrokenHistory``.
    """
    count = 0
    for count, name in enumerate(_names(engine), 1):
        with engine.begin() as connection:
            connection.execute(select(streams.c.seq).where(of_stream(streams, name)).with_for_update())
            expected = _expected(connection, name)
            for table in PROJECTIONS:
                connection.execute(delete(table).where(of_stream(table, name)))
                if expected[table.name]:
                    connection.execute(insert(table), expected[table.name])
        progress(count)
    with engine.begin() as connection:
        for table in PROJECTIONS:
            for name in list(_without_events(connection, table)):
                connection.execute(delete(table).where(of_stream(table, name)))
    return count


def _names(engine: Engine) -> Iterator[StreamName]:
    return Walk(engine, Scope(), page=PAGE).names(read_cursor(None))


def _expected(connection: Connection, name: StreamName) -> dict[str, list[Row]]:
    before = state = initial(name.tenant, name.commit_key)
    for event in read_events(connection, name, after=0):
        state = fold(state, event)
    made = rows(before, state)
    told = {"streams": (made.stream,), "branches": made.branches, "intents": made.intents}
    return {table: [{**row, **name.columns()} for row in found] for table, found in told.items()}


def _found(connection: Connection, name: StreamName) -> dict[str, list[Row]]:
    return {
        table.name: [
            dict(row) for row in connection.execute(select(table).where(of_stream(table, name))).mappings()
        ]
        for table in PROJECTIONS
    }


def _compare(
    name: StreamName, found: dict[str, list[Row]], expected: dict[str, list[Row]]
) -> Iterator[Difference]:
    for table in PROJECTIONS:
        key = [column.name for column in table.primary_key]
        there, due = (
            {tuple(row[column] for column in key): row for row in told[table.name]}
            for told in (found, expected)
        )
        for place in {*there, *due}:
            detail = _differs(there.get(place), due.get(place))
            if detail is not None:
                spelled = "/".join(str(part) for part in place[3:])
                yield Difference(name.tenant, name.commit_key, table.name, f"{spelled} {detail}".strip())


def _differs(found: Row | None, expected: Row | None) -> str | None:
    if found is None:
        return "is missing"
    if expected is None:
        return "is not in the events"
    columns = sorted(column for column, value in expected.items() if found[column] != value)
    return f"differs in {', '.join(columns)}" if columns else None


def _without_events(connection: Connection, table: Table) -> Iterator[StreamName]:
    same = (events.c[name] == table.c[name] for name in ("shard", "tenant", "commit_key"))
    query = (
        select(table.c.shard, table.c.tenant, table.c.commit_key)
        .where(table.c.shard.in_(range(SHARDS)), ~exists().where(*same))
        .distinct()
    )
    return (StreamName(*row) for row in connection.execute(query))
