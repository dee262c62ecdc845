"""Pauses: tools that are not sent, at an operator's word (design.md, "Dispatch": at once, everywhere).

What is promised: once ``pause`` has returned, no dispatch of the tool is licensed any more, by any dispatcher. The database
looks for a pause when it grants a licence; and a pause that is committed waits for every transaction that may have looked
before. What was licensed before may be sent still: its dispatcher asks again right before each transmission, as well as it
can, and lets it wait under its lease.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, any_, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from ledger.braking.schema import ALL_SHARDS, EVERY_TOOL
from ledger.schema import pauses
from ledger.session import single, transaction
from ledger.sharding import shard_of_tenant

NOT_PAUSED = "licence_not_paused"
"""Constraint that refuses the licence of a paused tool."""

PATIENCE = 5.0
"""Seconds that a pause waits for transactions that may not have seen it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A tool that is not sent (``*``: none is). ``by``: who said so, for ``reason``; ``at``: since then."""

    tool: str
    by: str
    reason: str
    at: datetime


Expected = Callable[[list[Pause]], None]
"""Told what is paused before anything is changed, in the same transaction; raises where it is not what was expected."""


class Pauses:
    """The pauses of all tenants. ``engine``: from ``ledger.connect``. All raise LedgerUnavailable."""

    def __init__(
        self,
        engine: Engine,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """See the class."""
        self._engine = engine
        self._monotonic = monotonic
        self._sleep = sleep

    def all(self) -> Mapping[str, list[Pause]]:
        """Everything that is paused, by tenant."""
        columns = (pauses.c.tenant, pauses.c.tool, pauses.c.by, pauses.c.reason, pauses.c.at)
        query = select(*columns).where(pauses.c.shard == any_(ALL_SHARDS)).order_by(*columns[:2])
        found: dict[str, list[Pause]] = {}
        with single(self._engine) as connection:
            for row in connection.execute(query):
                found.setdefault(row.tenant, []).append(_pause(row))
        return found

    def of(self, tenant: str) -> list[Pause]:
        """What is paused of a tenant, by tool."""
        with single(self._engine) as connection:
            return _of(connection, tenant)

    def pause(
        self, tenant: str, tool: str | None, *, by: str, reason: str, expected: Expected = lambda _now: None
    ) -> bool:
        """Send the tool (None: any tool) no more. Said again it changes who and why, and not since when.

        True once it holds for certain; False where a transaction that may not have seen it is open still after
        ``PATIENCE`` seconds: it holds for all that began later. Raises also what ``expected`` raises.
        """
        row = {"shard": shard_of_tenant(tenant), "tenant": tenant, "tool": tool or EVERY_TOOL}
        said = {"by": by, "reason": reason}
        statement = insert(pauses).values(**row, **said, at=func.now())
        statement = statement.on_conflict_do_update(constraint="pauses_pkey", set_=said)
        with transaction(self._engine) as connection, connection.begin():
            expected(_locked(connection, tenant))
            connection.execute(statement)
        return self._await_earlier()

    def resume(self, tenant: str, tool: str | None, *, expected: Expected = lambda _now: None) -> bool:
        """Send the tool again (None: lift the pause of every tool together, and not those of single tools).

        False where it was not paused. Raises also what ``expected`` raises.
        """
        mine = (pauses.c.shard == shard_of_tenant(tenant)) & (pauses.c.tenant == tenant)
        with transaction(self._engine) as connection, connection.begin():
            expected(_locked(connection, tenant))
            gone = connection.execute(delete(pauses).where(mine, pauses.c.tool == (tool or EVERY_TOOL)))
        return gone.rowcount > 0

    def _await_earlier(self) -> bool:
        """Wait until every transaction that was open is over: what begins later sees what is committed."""
        deadline = self._monotonic() + PATIENCE
        oldest = text("select pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        newest = text("select pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        with single(self._engine) as connection:
            until = connection.execute(newest).scalar_one()
            while connection.execute(oldest).scalar_one() < until:
                if self._monotonic() >= deadline:
                    return False
                self._sleep(0.002)
        return True


def _of(connection: Connection, tenant: str) -> list[Pause]:
    query = select(pauses).where(pauses.c.shard == shard_of_tenant(tenant), pauses.c.tenant == tenant)
    return [_pause(row) for row in connection.execute(query.order_by(pauses.c.tool))]


def _locked(connection: Connection, tenant: str) -> list[Pause]:
    """What is paused, and stays so until the transaction ends: operators change it one after the other."""
    connection.execute(text("lock table ledger.pauses in share row exclusive mode"))
    return _of(connection, tenant)


def _pause(row: Row[*tuple[Any, ...]]) -> Pause:
    return Pause(row.tool, row.by, row.reason, row.at.astimezone(UTC))
