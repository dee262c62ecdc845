"""Stops: tools whose early reads were wasted too often, kept so that every process of the ledger knows, also after a start.

Only stopping and going on again is written; what became of single early reads is counted by the process that saw it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine, any_, delete, select
from sqlalchemy.dialects.postgresql import insert

from ledger.braking.schema import ALL_SHARDS, stops
from ledger.session import single
from ledger.sharding import shard_of_tenant


@dataclass(frozen=True, slots=True)
class Stop:
    """A tool that sends no read early since ``at``: ``wasted`` of its last ``outcomes`` early reads were wasted."""

    tool: str
    wasted: int
    outcomes: int
    at: datetime


class Stops:
    """The stops of all tenants. ``engine``: from ``ledger.connect``. All raise LedgerUnavailable."""

    def __init__(self, engine: Engine) -> None:
        """See the class."""
        self._engine = engine

    def all(self) -> Mapping[str, list[Stop]]:
        """Every stop, by tenant."""
        found: dict[str, list[Stop]] = {}
        query = select(stops).where(stops.c.shard == any_(ALL_SHARDS)).order_by(stops.c.tenant, stops.c.tool)
        with single(self._engine) as connection:
            for row in connection.execute(query):
                stop = Stop(row.tool, row.wasted, row.outcomes, row.at.astimezone(UTC))
                found.setdefault(row.tenant, []).append(stop)
        return found

    def stop(self, tenant: str, stop: Stop) -> None:
        """The tool stops, or was tried once more."""
        said = {"wasted": stop.wasted, "outcomes": stop.outcomes, "at": stop.at}
        statement = insert(stops).values(shard=shard_of_tenant(tenant), tenant=tenant, tool=stop.tool, **said)
        with single(self._engine) as connection:
            connection.execute(statement.on_conflict_do_update(constraint="stops_pkey", set_=said))

    def lift(self, tenant: str, tool: str) -> None:
        """The tool sends reads early again."""
        here = (stops.c.shard == shard_of_tenant(tenant)) & (stops.c.tenant == tenant)
        with single(self._engine) as connection:
            connection.execute(delete(stops).where(here, stops.c.tool == tool))
