"""Walking through a ledger, stream by stream, reading only. Every statement names one shard, but for ``owners``.

The names come from events and dispatch rows, the union of both: a projection may have lost one.
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
    tuple_,
    union,
)
from sqlalchemy.exc import DBAPIError

from ledger.events import EFFECTS_STREAM
from ledger.faults import unavailable
from ledger.read import read_events
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
        scope = self._scope
        if scope.tenant is not None and scope.commit_key is not None:
            name = StreamName.of(scope.tenant, scope.commit_key)
            if (after.shard, after.commit_key) != (name.shard, name.commit_key):
                yield from self._page_of(name.shard, StreamName(name.shard, "", ""))
            return
        for shard in range(after.shard, SHARDS):
            start = after if shard == after.shard else StreamName(shard, "", "")
            while page := self._page_of(shard, start):
                yield from page
                start = page[-1]

    def evidence(self, name: StreamName) -> Evidence:
        """Everything that the ledger holds about one stream, on one snapshot."""
        with self._snapshot() as connection:
            told = read_events(connection, name, after=0)
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
            or_(intents.c.intent_id.in_(intent_ids), intents.c.idempotency_key.in_(keys))
        )
        if self._scope.tenant is not None:
            query = query.where(intents.c.tenant == self._scope.tenant)
        with self._snapshot() as connection:
            return [Owner(*row) for row in connection.execute(query)]

    def _page_of(self, shard: int, after: StreamName) -> list[StreamName]:
        told, unknown = self._in_events(shard, after), self._in_rows_only(shard, after)
        both = union(told, unknown).subquery()
        query = select(both).order_by(both.c.tenant, both.c.commit_key).limit(self._page)
        with self._snapshot() as connection:
            return [StreamName(shard, row.tenant, row.commit_key) for row in connection.execute(query)]

    def _in_events(self, shard: int, after: StreamName) -> Select[Any]:
        query = self._of(events, shard, after).group_by(events.c.tenant, events.c.commit_key)
        if self._scope.until is not None:
            query = query.having(func.min(events.c.at) < self._scope.until)
        if self._scope.since is not None:
            query = query.having(func.max(events.c.at) >= self._scope.since)
        return query.order_by(events.c.tenant, events.c.commit_key).limit(self._page)

    def _in_rows_only(self, shard: int, after: StreamName) -> Select[Any]:
        """Streams that have a dispatch row and no event at all: no time limit applies, none is recorded."""
        same = and_(*(events.c[n] == dispatches.c[n] for n in ("shard", "tenant", "commit_key")))
        query = self._of(dispatches, shard, after).where(~exists().where(same)).distinct()
        return query.order_by(dispatches.c.tenant, dispatches.c.commit_key).limit(self._page)

    def _of(self, table: Table, shard: int, after: StreamName) -> Select[Any]:
        place = tuple_(table.c.tenant, table.c.commit_key)
        wanted: list[ColumnElement[bool]] = [
            table.c.shard == shard,
            place > tuple_(after.tenant, after.commit_key),
            table.c.commit_key != EFFECTS_STREAM,
        ]
        if self._scope.tenant is not None:
            wanted.append(table.c.tenant == self._scope.tenant)
        if self._scope.commit_key is not None:
            wanted.append(table.c.commit_key == self._scope.commit_key)
        return select(table.c.tenant, table.c.commit_key).where(*wanted)

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
