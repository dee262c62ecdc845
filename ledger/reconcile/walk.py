"""Walking through a ledger, stream by stream, reading only.

The names come from events and dispatch rows, the union of both: a projection may have lost one. They are read in the
order of the tables' own keys, page by page, each page behind the last name of the one before.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    Table,
    and_,
    exists,
    func,
    or_,
    select,
    true,
    tuple_,
    union,
)
from sqlalchemy.exc import DBAPIError

from ledger.events import EFFECTS_STREAM
from ledger.faults import unavailable
from ledger.read import read_events, redacts
from ledger.reconcile.evidence import DispatchRow, Evidence
from ledger.schema import dispatches, events, intents, of_stream, pauses
from ledger.sharding import SHARDS, StreamName, shard_of_tenant


@dataclass(frozen=True, slots=True)
class Scope:
    """Which streams. ``since``, ``until``: those with an event in [since, until) by its ``at``. None: no limit."""

    tenant: str | None = None
    commit_key: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Owner:
    """An intent that the ledger knows."""

    tenant: str
    commit_key: str
    intent_id: str
    idempotency_key: str | None


class Walk:
    """Reads a ledger under ``engine``. Each call is a transaction of its own, on one snapshot, read only.

    Raises ``LedgerUnavailable``.
    """

    def __init__(self, engine: Engine, scope: Scope, *, page: int) -> None:
        """``page``: names that are read at once."""
        self._engine = engine
        self._scope = scope
        self._page = page

    def names(self, after: StreamName) -> Iterator[StreamName]:
        """The streams in scope behind ``after``, by shard, tenant and commit key."""
        scope, last = self._scope, after
        if scope.tenant is not None and scope.commit_key is not None:
            wanted = StreamName.of(scope.tenant, scope.commit_key)
            if after != wanted and self._exists(wanted) and self._in_time(wanted):
                yield wanted
            return
        while page := self._page_behind(last):
            last = page[-1]
            yield from filter(self._in_time, page)

    def evidence(self, name: StreamName) -> Evidence:
        """Everything that the ledger holds about one stream, on one snapshot."""
        with self._snapshot() as connection:
            told = read_events(connection, name, after=0, lenient=True)
            return Evidence(name.tenant, name.commit_key, told, _rows(connection, name))

    def paused(self, tenant: str) -> frozenset[str]:
        """The tools of the tenant that are not sent now; ``*`` is every tool."""
        query = select(pauses.c.tool).where(
            pauses.c.shard == shard_of_tenant(tenant), pauses.c.tenant == tenant
        )
        with self._snapshot() as connection:
            return frozenset(connection.execute(query).scalars())

    def owners(self, intent_ids: Collection[str], keys: Collection[str]) -> list[Owner]:
        """The intents that have one of these ids or idempotency keys, over all shards: for leftovers of a log alone."""
        columns = (intents.c.tenant, intents.c.commit_key, intents.c.intent_id, intents.c.idempotency_key)
        query = select(*columns).where(
            intents.c.shard.in_(range(SHARDS)),
            or_(intents.c.intent_id.in_(intent_ids), intents.c.idempotency_key.in_(keys)),
        )
        if self._scope.tenant is not None:
            query = query.where(intents.c.tenant == self._scope.tenant)
        with self._snapshot() as connection:
            return [Owner(*row) for row in connection.execute(query)]

    def redacted(self, commit_keys: Collection[str] | None) -> frozenset[str]:
        """Those of these commit keys under which calls are redacted; of all (None), one of them."""
        query = select(events.c.commit_key).where(events.c.shard.in_(range(SHARDS)), redacts())
        if self._scope.tenant is not None:
            query = query.where(events.c.tenant == self._scope.tenant)
        query = query.limit(1) if commit_keys is None else query.where(events.c.commit_key.in_(commit_keys))
        with self._snapshot() as connection:
            return frozenset(connection.execute(query).scalars())

    def _page_behind(self, last: StreamName) -> list[StreamName]:
        told, sent = self._names_in(events, last), self._names_in(dispatches, last)
        both = union(told, sent).subquery()
        query = select(both).order_by(both.c.shard, both.c.tenant, both.c.commit_key).limit(self._page)
        with self._snapshot() as connection:
            return [StreamName(*row) for row in connection.execute(query)]

    def _names_in(self, table: Table, last: StreamName) -> Select[Any]:
        key = (table.c.shard, table.c.tenant, table.c.commit_key)
        query = select(*key).where(tuple_(*key) > tuple_(last.shard, last.tenant, last.commit_key))
        query = query.where(table.c.commit_key != EFFECTS_STREAM)
        if self._scope.tenant is not None:
            query = query.where(table.c.tenant == self._scope.tenant)
        if self._scope.commit_key is not None:
            query = query.where(table.c.commit_key == self._scope.commit_key)
        return query.distinct().order_by(*key).limit(self._page)

    def _exists(self, name: StreamName) -> bool:
        found = or_(*(exists().where(of_stream(table, name)) for table in (events, dispatches)))
        with self._snapshot() as connection:
            return bool(connection.execute(select(found)).scalar_one())

    def _in_time(self, name: StreamName) -> bool:
        """Whether an event of the stream lies in scope; what has no event at all always does."""
        since, until = self._scope.since, self._scope.until
        if since is None and until is None:
            return True
        in_scope: list[ColumnElement[bool]] = [true()]
        in_scope += [] if since is None else [events.c.at >= since]
        in_scope += [] if until is None else [events.c.at < until]
        told, meant = func.count(), func.count().filter(and_(*in_scope))
        with self._snapshot() as connection:
            row = connection.execute(select(told, meant).where(of_stream(events, name))).one()
        return not row[0] or bool(row[1])

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        try:
            with self._engine.connect() as connection:
                yield connection.execution_options(**options)
        except DBAPIError as error:
            found = unavailable(error)
            if found is error:
                raise
            raise found from error


def _rows(connection: Connection, name: StreamName) -> list[DispatchRow]:
    columns = (
        dispatches.c.intent_id,
        dispatches.c.attempt,
        dispatches.c.branch,
        dispatches.c.effect,
        dispatches.c.lease_until,
        dispatches.c.started_seq,
        dispatches.c.open,
        dispatches.c.unsent,
    )
    query = select(*columns).where(of_stream(dispatches, name))
    rows = connection.execute(query.order_by(dispatches.c.intent_id, dispatches.c.attempt))
    return [
        DispatchRow(
            intent_id=row.intent_id,
            attempt=row.attempt,
            branch=row.branch,
            effect=row.effect,
            lease_until=row.lease_until.astimezone(UTC),
            started_seq=row.started_seq,
            open=row.open,
            unsent=row.unsent,
        )
        for row in rows
    ]
