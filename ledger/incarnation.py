"""Incarnations: whether the database is still the one on which calls were let go and licences granted.

A restored backup, a promoted standby and a dump read back may lack what their predecessor knew: licences, and so calls
that were sent. Each shard therefore remembers the incarnation (``ledger.incarnation()``: system identifier, timeline,
database) and the start of the server that were taken in; on any other the database refuses every licence that is not
for a read (``licence_incarnation_taken_in``). Taking in is the dispatcher's: ``gateway.dispatcher.incarnation``.

A backup that was put back below the same server, without recovery to a new timeline, keeps its incarnation. It is known
by its write-ahead log, which ends before what was once flushed: only a process that saw the later end can tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DateTime,
    Engine,
    Executable,
    PrimaryKeyConstraint,
    Row,
    SmallInteger,
    Table,
    Text,
    bindparam,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import DBAPIError

from ledger.faults import unavailable
from ledger.schema import metadata
from ledger.sharding import StreamName

RESTORED = "database_restored"
"""Why a call is in doubt, or sent again with its key, that may have been sent in what the database lost."""

NOT_TAKEN_IN = "licence_incarnation_taken_in"
"""``LicenceRefused.constraint`` of a dispatch on an incarnation that is not taken in."""

incarnations = Table(
    "incarnations",
    metadata,
    Column("shard", SmallInteger, autoincrement=False, comment="0 to 255 (ledger.sharding)."),
    Column(
        "identity",
        Text,
        nullable=False,
        comment="Incarnation that is taken in, as ledger.incarnation() names it; empty: none is.",
    ),
    Column(
        "started_at",
        DateTime(timezone=True),
        nullable=False,
        comment="Start of the server under which it was.",
    ),
    Column(
        "swept",
        Boolean,
        nullable=False,
        comment="Under this start, what was not settled was made a doubt; false: nothing was missing.",
    ),
    PrimaryKeyConstraint("shard", name="incarnations_pkey"),
    comment="The incarnation of the database on which each shard's calls may be sent. Not a projection: never rebuilt.",
)


@dataclass(frozen=True, slots=True)
class Database:
    """The database as it answers now. ``flushed``: byte position up to which its write-ahead log is on disk."""

    identity: str
    started_at: datetime
    flushed: int

    def same_server(self, other: "Database") -> bool:
        """Whether both are one incarnation under one start of its server."""
        return (self.identity, self.started_at) == (other.identity, other.started_at)

    def went_back(self, earlier: "Database") -> bool:
        """Whether it has less than ``earlier`` had on disk, although it is the same incarnation."""
        return self.identity == earlier.identity and self.flushed < earlier.flushed


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at the database shows of the shards that were asked for.

    ``foreign``: shards of another incarnation, in order. ``restarted``: of this one, under an earlier start.
    """

    database: Database
    foreign: tuple[int, ...]
    restarted: tuple[int, ...]


class Incarnations:
    """The known incarnations. ``engine``: from ``ledger.connect``. All raise LedgerUnavailable, also on a standby."""

    def __init__(self, engine: Engine) -> None:
        """See the class."""
        self._engine = engine

    def look(self, shards: Sequence[int]) -> Look:
        """How the database answers now, and which of ``shards`` are not taken in."""
        [row] = self._ask(_LOOK, shards=list(shards))
        database = Database(row.identity, row.started_at, int(row.flushed))
        return Look(database, tuple(sorted(row.foreign_shards)), tuple(sorted(row.restarted_shards)))

    def unsettled(
        self, shards: Sequence[int], limit: int, *, after: StreamName | None = None
    ) -> list[StreamName]:
        """Streams of ``shards`` beyond ``after``, in order, that hold a cleared call which is no read and not settled."""
        start = after or StreamName(-1, "", "")
        rows = self._ask(_UNSETTLED, shards=list(shards), limit=limit, **start.columns())
        return [StreamName(row.shard, row.tenant, row.commit_key) for row in rows]

    def let_go_since(self, stream: StreamName) -> Mapping[str, datetime]:
        """When each intent of ``stream`` was first let go; where it never was, when it was first held."""
        return {row.intent_id: row.at for row in self._ask(_LET_GO_SINCE, **stream.columns())}

    def take_in(self, shards: Sequence[int], database: Database, *, swept: bool) -> int:
        """Let calls of ``shards`` be sent on ``database``; the number of shards. 0 where it is not what answers now.

        ``swept``: what was not settled has been looked through. Else nothing can be missing, and only shards of this
        incarnation are taken.
        """
        statement = _TAKE_IN if swept else _SAME_AGAIN
        return self._change(statement, shards=list(shards), **_named(database))

    def disown(self, database: Database) -> int:
        """Take no shard for this incarnation any more, because it went back; the number of shards.

        Shards that were looked through under this start of the server stay.
        """
        return self._change(_DISOWN, **_named(database))

    def _ask(self, statement: Executable, **parameters: object) -> Sequence[Row[Any]]:
        with self._connection() as connection:
            return connection.execute(statement, parameters).all()

    def _change(self, statement: Executable, **parameters: object) -> int:
        with self._connection() as connection:
            return connection.execute(statement, parameters).rowcount

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection.execution_options(isolation_level="AUTOCOMMIT")
        except DBAPIError as error:
            found = unavailable(error)
            if found is error:
                raise
            raise found from error


def _named(database: Database) -> dict[str, object]:
    return {"identity": database.identity, "started_at": database.started_at}


_SHARDS = bindparam("shards", type_=ARRAY(SmallInteger))

# A database whose rows were never made is taken for foreign, hence from the shards that are asked for.
_LOOK = text("""
with database as (
    select ledger.incarnation() as identity, pg_postmaster_start_time() as started_at,
        pg_current_wal_flush_lsn() - '0/0'::pg_lsn as flushed
), asked as (
    select unnest(:shards) as shard
)
select identity, started_at, flushed,
    array(
        select asked.shard from asked left join ledger.incarnations i on i.shard = asked.shard
        where i.identity is distinct from database.identity
    ) as foreign_shards,
    array(
        select i.shard from ledger.incarnations i
        where i.shard = any(:shards) and i.identity = database.identity and i.started_at <> database.started_at
    ) as restarted_shards
from database
""").bindparams(_SHARDS)

# Held ones too: in what was lost their turn may have come without anybody's asking.
_UNSETTLED = text("""
select distinct shard, tenant, commit_key from ledger.intents
where shard = any(:shards) and (shard, tenant, commit_key) > (:shard, :tenant, :commit_key)
    and state in ('held', 'awaiting_approval', 'released', 'dispatched') and block = 'cleared' and effect <> 'READ_ONLY'
order by shard, tenant, commit_key limit :limit
""").bindparams(_SHARDS)

_LET_GO_SINCE = text("""
select intent_id, coalesce(min(at) filter (where type = 'intent.released'), min(at)) as at from ledger.events
where shard = :shard and tenant = :tenant and commit_key = :commit_key
    and intent_id is not null and type in ('intent.held', 'intent.released')
group by intent_id
""")

# What was decided about one database must not be written into another that took its place meanwhile.
_TAKE_IN = text("""
insert into ledger.incarnations as i (shard, identity, started_at, swept)
select unnest(:shards), :identity, :started_at, true
where ledger.incarnation() = :identity and pg_postmaster_start_time() = :started_at
on conflict (shard) do update set
    identity = excluded.identity, started_at = excluded.started_at, swept = true
where (i.identity, i.started_at) is distinct from (excluded.identity, excluded.started_at)
""").bindparams(_SHARDS)

_SAME_AGAIN = text("""
update ledger.incarnations i set started_at = :started_at, swept = false
where i.shard = any(:shards) and i.identity = :identity and i.started_at <> :started_at
    and ledger.incarnation() = :identity and pg_postmaster_start_time() = :started_at
""").bindparams(_SHARDS)

_DISOWN = text("""
update ledger.incarnations i set identity = ''
where i.shard between 0 and 255 and i.identity = :identity and not (i.started_at = :started_at and i.swept)
    and ledger.incarnation() = :identity and pg_postmaster_start_time() = :started_at
""")
