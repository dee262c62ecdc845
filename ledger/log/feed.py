"""Reading sealed events in log order: the seals give the order, each names a run of one stream.

Every statement looks at a bounded piece of the log, found by the index on ``first_index``; or, where one stream is
wanted, at its own seals.
"""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Select, and_, exists, func, literal, select

from ledger.log.entries import Page, SealedEvent, Wanted
from ledger.log.places import log_state
from ledger.log.schema import seals
from ledger.read import EVENT_COLUMNS, event_of
from ledger.schema import events, intents, of_stream
from ledger.sharding import StreamName

SPAN = 10_000
"""Log indexes that one page looks at, where it looks for some events among others."""

_KEY = ("shard", "tenant", "commit_key")
LOG_INDEX = seals.c.first_index + events.c.seq - seals.c.first_seq
_IN_STREAM_KEYS = and_(*(seals.c[name] == events.c[name] for name in _KEY))


def read_page(connection: Connection, after: int, limit: int, wanted: Wanted) -> Page:
    """Up to ``limit`` wanted events with an index above ``after``, in log order."""
    # The size first: what is sealed up to it is visible to every later statement.
    size = log_state(connection).size
    first = max(after + 1, 0)
    if wanted.tenant is not None and wanted.commit_key is not None:
        last = size - 1
        query = of_one_stream(StreamName.of(wanted.tenant, wanted.commit_key), first, *EVENT_COLUMNS)
    else:
        last = min(first + (limit if wanted == Wanted() else max(SPAN, limit)), size) - 1
        query = between(first, last, *EVENT_COLUMNS)
    if last < first:
        return Page((), after, size)
    rows = connection.execute(query.where(*_conditions(wanted)).limit(limit)).all()
    found = tuple(SealedEvent(row.log_index, row.tenant, row.commit_key, event_of(row)) for row in rows)
    reached = found[-1].index if len(found) == limit else max(last, found[-1].index if found else -1)
    return Page(found, reached, max(size, reached + 1))


def between(first: int, last: int, *columns: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    """Rows of the events with the indexes ``first`` to ``last``, in log order: log_index, tenant, commit_key, then these."""
    begins = (
        select(seals.c.first_index)
        .where(seals.c.first_index <= first)
        .order_by(seals.c.first_index.desc())
        .limit(1)
        .scalar_subquery()
    )
    skipped = func.greatest(literal(first, BigInteger) - seals.c.first_index, 0)
    through = seals.c.first_seq + (literal(last, BigInteger) - seals.c.first_index)
    return (
        _rows(*columns)
        .where(
            seals.c.first_index >= begins,
            seals.c.first_index <= last,
            events.c.seq >= seals.c.first_seq + skipped,
            events.c.seq <= func.least(seals.c.last_seq, through),
        )
        .order_by(seals.c.first_index, events.c.seq)
    )


def of_one_stream(stream: StreamName, first: int, *columns: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    """Rows of a stream's sealed events from index ``first`` on, in log order; columns as in ``between``."""
    return (
        _rows(*columns)
        .where(
            of_stream(seals, stream),
            of_stream(events, stream),
            events.c.seq.between(seals.c.first_seq, seals.c.last_seq),
            seals.c.first_index + seals.c.last_seq - seals.c.first_seq >= first,
            first <= LOG_INDEX,
        )
        .order_by(seals.c.first_seq, events.c.seq)
    )


def _rows(*columns: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    named = (LOG_INDEX.label("log_index"), events.c.tenant, events.c.commit_key, *columns)
    return select(*named).select_from(seals.join(events, _IN_STREAM_KEYS))


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.tenant is not None:
        conditions.append(events.c.tenant == wanted.tenant)
    if wanted.commit_key is not None:
        conditions.append(events.c.commit_key == wanted.commit_key)
    if wanted.type is not None:
        conditions.append(events.c.type == wanted.type.value)
    if wanted.since is not None:
        conditions.append(events.c.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(events.c.at < wanted.until)
    if wanted.tool is not None:
        of_intent = (intents.c[name] == events.c[name] for name in (*_KEY, "intent_id"))
        conditions.append(exists().where(*of_intent, intents.c.tool == wanted.tool))
    return conditions
