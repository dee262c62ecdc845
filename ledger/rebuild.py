"""Rebuilding projections from events: what the fold makes of each stream, beside or in place of the rows that are there.

Licences, batch replays and pauses are no projections and are never touched (design.md, "The ledger"). What the log keeps on
a row (``streams.unsealed``) is none either: a rebuilt stream counts as unsealed, and nothing is compared. Streams come in
the order of the events' key; in memory are the state and the rows of one of them, and a page of its events, so a run over
any number of streams of any length needs no more than the largest stream does.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, Table, delete, exists, func, insert, select, tuple_
from sqlalchemy.exc import DBAPIError

from ledger.errors import UnreadableStream, UnwritableValue
from ledger.faults import unavailable
from ledger.fold import fold_recorded, initial
from ledger.projection import Row, rows
from ledger.read import read_events
from ledger.reconcile.cursor import cursor_after, read_cursor
from ledger.schema import events, intents, of_stream, streams
from ledger.sharding import SHARDS, StreamName

PROJECTIONS = (streams, intents)
PAGE = 1000
"""Events, and names, that are read at once."""

_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
_NAME = ("shard", "tenant", "commit_key")


@dataclass(frozen=True, slots=True)
class Difference:
    """A stream of which one projection is not what its events amount to.

    ``table`` is ``events`` where those of the stream amount to nothing; ``detail`` then begins with ``stream_unreadable``.
    """

    tenant: str
    commit_key: str
    table: str
    detail: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come. ``cursor``: behind the last stream that is through; a later run may begin there."""

    streams: int
    events: int
    cursor: str | None


Told = Callable[[Progress], None]
Found = Callable[[Difference], None]


def size(engine: Engine, *, after: str | None = None) -> Progress:
    """How many streams, and events in them, a run from ``after`` on has before it. Raises BadCursor, LedgerUnavailable."""
    first = func.count().filter(events.c.seq == 1)
    query = select(first, func.count()).where(_behind(events, read_cursor(after)))
    with _connection(engine) as connection:
        told = connection.execute(query).one()
    return Progress(told[0], told[1], after)


def check(
    engine: Engine,
    progress: Told = lambda _progress: None,
    *,
    after: str | None = None,
    only: StreamName | None = None,
) -> Iterator[Difference]:
    """Every difference between projections and events, stream by stream, each on one snapshot; nothing is changed.

    ``progress`` is told after each page of events and each stream. ``after``: the cursor of an earlier run. ``only``: that
    stream alone. A stream that cannot be read is a difference, and the others are compared. Raises BadCursor,
    LedgerUnavailable.
    """
    count = _Count(progress, after)
    for name in _names(engine, after, only):
        with _connection(engine) as connection:
            connection = connection.execution_options(**_SNAPSHOT)
            found = _found(connection, name)
            try:
                differences = list(_compare(name, found, _expected(connection, name, count)))
            except UnreadableStream as error:
                differences = [_unreadable(name, error)]
        count.through(name)
        yield from differences
    for table in PROJECTIONS:
        for name in _without_events(engine, table, only):
            yield Difference(name.tenant, name.commit_key, table.name, "a row of a stream without events")


def rebuild(
    engine: Engine,
    progress: Told = lambda _progress: None,
    *,
    after: str | None = None,
    only: StreamName | None = None,
    passed_over: Found | None = None,
) -> int:
    """Write every projection anew from events, one transaction a stream; the number of streams.

    Arguments and errors are those of ``check``. A stream that cannot be read keeps its rows: ``passed_over`` is told of it,
    and without it UnreadableStream is raised. Appends to a stream wait while it is rebuilt. A run that was broken off
    leaves each stream as it was or rebuilt; another one may go on behind the last cursor that ``progress`` was told.
    """
    count = _Count(progress, after)
    for name in _names(engine, after, only):
        try:
            _write(engine, name, count)
        except UnreadableStream as error:
            if passed_over is None:
                raise
            passed_over(_unreadable(name, error))
            continue
        count.through(name)
    for table in PROJECTIONS:
        for name in _without_events(engine, table, only):
            with _connection(engine) as connection, connection.begin():
                connection.execute(delete(table).where(of_stream(table, name), _nothing_happened(table)))
    return count.streams


def _write(engine: Engine, name: StreamName, count: "_Count") -> None:
    try:
        with _connection(engine) as connection, connection.begin():
            connection.execute(select(streams.c.seq).where(of_stream(streams, name)).with_for_update())
            expected = _expected(connection, name, count)
            for table in PROJECTIONS:
                connection.execute(delete(table).where(of_stream(table, name)))
                if expected[table.name]:
                    connection.execute(insert(table), expected[table.name])
    except UnwritableValue as error:
        raise UnreadableStream(
            name.commit_key, f"no row can hold what its events amount to ({error})"
        ) from error


class _Count:
    """Counts, and tells."""

    def __init__(self, told: Told, cursor: str | None) -> None:
        self.streams = 0
        self._events = 0
        self._cursor = cursor
        self._told = told

    def page(self, events_read: int) -> None:
        self._events += events_read
        self._tell()

    def through(self, name: StreamName) -> None:
        self.streams += 1
        self._cursor = cursor_after(name)
        self._tell()

    def _tell(self) -> None:
        self._told(Progress(self.streams, self._events, self._cursor))


def _names(engine: Engine, after: str | None, only: StreamName | None) -> Iterator[StreamName]:
    """The streams that have events. One step down the index for each, whatever number of events it has."""
    last = read_cursor(after)
    if only is not None:
        with _connection(engine) as connection:
            there = connection.execute(select(exists().where(of_stream(events, only)))).scalar_one()
        yield from [only] if there else []
        return
    key = [events.c[name] for name in _NAME]
    while True:
        with _connection(engine) as connection:
            row = connection.execute(
                select(*key).where(_behind(events, last)).order_by(*key).limit(1)
            ).one_or_none()
        if row is None:
            return
        last = StreamName(*row)
        yield last


def _expected(connection: Connection, name: StreamName, count: _Count) -> dict[str, list[Row]]:
    before = state = initial(name.tenant, name.commit_key)
    while page := read_events(connection, name, after=state.seq, limit=PAGE):
        state = fold_recorded(state, page)
        count.page(len(page))
    made = rows(before, state)
    told = {"streams": (made.stream,), "intents": made.intents}
    return {table: [{**row, **name.columns()} for row in found] for table, found in told.items()}


def _unreadable(name: StreamName, error: UnreadableStream) -> Difference:
    return Difference(name.tenant, name.commit_key, events.name, f"{UnreadableStream.code}: {error.why}")


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
        for place in sorted({*there, *due}, key=str):
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


def _without_events(engine: Engine, table: Table, only: StreamName | None) -> Iterator[StreamName]:
    """Streams that have rows in ``table`` and no events, a page at a time."""
    key = [table.c[name] for name in _NAME]
    query = select(*key).where(table.c.shard.in_(range(SHARDS)), _nothing_happened(table)).distinct()
    if only is not None:
        query = query.where(of_stream(table, only))
    last = read_cursor(None)
    while True:
        with _connection(engine) as connection:
            page = connection.execute(query.where(_behind(table, last)).order_by(*key).limit(PAGE)).all()
        if not page:
            return
        for row in page:
            last = StreamName(*row)
            yield last


def _behind(table: Table, last: StreamName) -> ColumnElement[bool]:
    return tuple_(*(table.c[name] for name in _NAME)) > tuple_(last.shard, last.tenant, last.commit_key)


def _nothing_happened(table: Table) -> ColumnElement[bool]:
    return ~exists().where(*(events.c[name] == table.c[name] for name in _NAME)).correlate(table)


@contextmanager
def _connection(engine: Engine) -> Iterator[Connection]:
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        found = unavailable(error)
        if found is error:
            raise
        raise found from error
