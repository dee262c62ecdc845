"""What waits to be done, for dispatchers: one statement a question, over all the shards that are served.

Every statement asks for shards and is led by an index that begins with the shard. What is found may be gone a moment
later: the decision that follows is taken on the stream's own state.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Engine,
    Interval,
    SmallInteger,
    Table,
    TextClause,
    Update,
    and_,
    any_,
    bindparam,
    exists,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import DBAPIError

from ledger.braking.admission import Admissions
from ledger.braking.pausing import Pauses
from ledger.events import EFFECTS_STREAM, EventType
from ledger.faults import unavailable
from ledger.incarnation import Incarnations
from ledger.schema import dispatches, events, intents, of_stream, spelled_out, streams
from ledger.sharding import StreamName


@dataclass(frozen=True, slots=True)
class ReleasedCall:
    """An intent that was let go and is not sent yet. ``tool`` is information, and no part of what it is."""

    stream: StreamName
    intent_id: str
    tool: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ExpiredLease:
    """A dispatch without an outcome whose lease has run out under ``epoch``."""

    stream: StreamName
    intent_id: str
    attempt: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Doubt:
    """An intent in doubt, and the attempt that is."""

    stream: StreamName
    intent_id: str
    attempt: int


class Work:
    """Questions to the ledger about what waits. ``engine``: from ``ledger.connect``. All raise LedgerUnavailable.

    ``incarnations``: whether the database is still the one on which it began to wait. ``pauses``, ``admissions``: what may
    be sent now at all.
    """

    def __init__(self, engine: Engine) -> None:
        """See the class."""
        self._engine = engine
        self.incarnations = Incarnations(engine)
        self.pauses = Pauses(engine)
        self.admissions = Admissions(engine)

    def released(
        self,
        shards: Sequence[int],
        limit: int,
        *,
        after: int = -1,
        without: Collection[tuple[str, str | None]] = (),
    ) -> list[ReleasedCall]:
        """At most ``limit`` released calls: those of the shards beyond ``after`` first, then the others.

        ``without``: tenants and tools whose calls are passed over (tool None: all of the tenant's).
        """
        asked: dict[str, object] = {
            "later": _spelled(shard for shard in shards if shard > after),
            "earlier": _spelled(shard for shard in shards if shard <= after),
            "limit": limit,
        }
        if without:
            asked["without"] = json.dumps([{"tenant": tenant, "tool": tool} for tenant, tool in without])
        rows = self._ask(_RELEASED_OF_SOME if without else _RELEASED, **asked)
        return [
            ReleasedCall(StreamName(shard, tenant, commit_key), intent_id, tool)
            for shard, tenant, commit_key, intent_id, tool in rows
        ]

    def expired_leases(self, shards: Sequence[int], limit: int) -> list[ExpiredLease]:
        """At most ``limit`` dispatches whose lease has run out, by the database's clock."""
        rows = self._ask(_EXPIRED, shards=list(shards), limit=limit)
        return [ExpiredLease(_stream(row), row.intent_id, row.attempt, row.epoch) for row in rows]

    def due_retries(self, shards: Sequence[int], now: datetime, limit: int) -> list[StreamName]:
        """Streams that hold a call whose time to be sent again has come."""
        return [_stream(row) for row in self._ask(_DUE, shards=list(shards), now=now, limit=limit)]

    def idle_streams(self, shards: Sequence[int], idle: timedelta, limit: int) -> list[StreamName]:
        """Unfinished streams whose writer has been silent for ``idle``, by the database's clock."""
        return [_stream(row) for row in self._ask(_IDLE, shards=list(shards), idle=idle, limit=limit)]

    def doubts(self, shards: Sequence[int], limit: int) -> list[Doubt]:
        """At most ``limit`` calls in doubt that nobody has claimed, by the database's clock.

        Only such as were licensed: of what a database lost with its log nobody knows here when it was sent.
        """
        rows = self._ask(_DOUBTS, shards=list(shards), limit=limit)
        return [Doubt(_stream(row), row.intent_id, row.attempt) for row in rows]

    def claim_doubt(self, doubt: Doubt, seconds: float) -> bool:
        """Keep the doubt to oneself for so long; False where somebody was faster, or it is none any more."""
        return bool(self._ask(_kept_for(doubt, seconds).where(dispatches.c.lease_until < func.now())))

    def put_doubt_off(self, doubt: Doubt, seconds: float) -> None:
        """Let a doubt that was claimed be found again after so long, instead of when the claim ends."""
        self._ask(_kept_for(doubt, seconds))

    def outcome_recorded(self, stream: StreamName, intent_id: str, attempt: int, type_: EventType) -> bool:
        """Whether the stream holds an event of this type about the attempt."""
        statement = select(
            exists().where(
                of_stream(events, stream),
                events.c.intent_id == intent_id,
                events.c.attempt == attempt,
                events.c.type == type_.value,
            )
        )
        return bool(self._ask(statement)[0][0])

    def _ask(self, statement: Any, **parameters: object) -> Sequence[Any]:
        try:
            with self._engine.connect() as connection:
                automatic = connection.execution_options(isolation_level="AUTOCOMMIT")
                return automatic.execute(statement, parameters).all()
        except DBAPIError as error:
            found = unavailable(error)
            if found is error:
                raise
            raise found from error


def _kept_for(doubt: Doubt, seconds: float) -> Update:
    """Let nobody find the doubt for so long. Its licence is closed, so the lease has no other use."""
    return (
        update(dispatches)
        .where(
            of_stream(dispatches, doubt.stream),
            dispatches.c.intent_id == doubt.intent_id,
            dispatches.c.attempt == doubt.attempt,
            ~dispatches.c.open,
        )
        .values(lease_until=func.now() + timedelta(seconds=seconds))
        .returning(dispatches.c.attempt)
    )


def _stream(row: Any) -> StreamName:
    return StreamName(row.shard, row.tenant, row.commit_key)


def _spelled(shards: Iterable[int]) -> str:
    # One text: a list costs the driver many times what its text does.
    return f"{{{','.join(map(str, shards))}}}"


def _of_shards(table: Table, name: str) -> ColumnElement[bool]:
    return table.c.shard == any_(bindparam(name, type_=ARRAY(SmallInteger)))


def _released(shards: str, condition: str) -> str:
    # Ordered as the index is, and limited by itself, so that no more rows are read than are asked for.
    return f"""(
select i.shard, i.tenant, i.commit_key, i.intent_id, i.tool from ledger.intents i
where i.shard = any(cast(:{shards} as smallint[])) and i.state = 'released'{condition}
order by i.shard, i.tenant, i.commit_key, i.intent_id limit :limit
)"""  # noqa: S608 - made of constants alone


def _of_both(condition: str = "") -> TextClause:
    # As text: this is asked for many times a second, and a literal within a built statement is put in anew each time.
    both = f"{_released('later', condition)} union all {_released('earlier', condition)} limit :limit"
    return text(both)


_RELEASED = _of_both()
_RELEASED_OF_SOME = _of_both(
    " and not exists (select from json_to_recordset(cast(:without as json)) as w (tenant text, tool text)"
    " where w.tenant = i.tenant and (w.tool is null or w.tool = i.tool))"
)

# now(), not clock_timestamp(): an index can only be searched for what does not move.
_EXPIRED = (
    select(
        dispatches.c.shard,
        dispatches.c.tenant,
        dispatches.c.commit_key,
        dispatches.c.intent_id,
        dispatches.c.attempt,
        dispatches.c.epoch,
    )
    .where(_of_shards(dispatches, "shards"), dispatches.c.open, dispatches.c.lease_until < func.now())
    .limit(bindparam("limit"))
)

# A licence that is closed needs no lease: of a call in doubt its end is until when it is claimed to be probed.
_DOUBTS = (
    select(intents.c.shard, intents.c.tenant, intents.c.commit_key, intents.c.intent_id, dispatches.c.attempt)
    .join(
        dispatches,
        and_(
            *(
                dispatches.c[name] == intents.c[name]
                for name in ("shard", "tenant", "commit_key", "intent_id")
            ),
            dispatches.c.attempt == intents.c.attempts,
        ),
    )
    .where(
        _of_shards(intents, "shards"),
        intents.c.state == spelled_out("in_doubt"),
        ~dispatches.c.open,
        dispatches.c.lease_until < func.now(),
    )
    .limit(bindparam("limit"))
)

_DUE = (
    select(intents.c.shard, intents.c.tenant, intents.c.commit_key)
    .distinct()
    .where(
        _of_shards(intents, "shards"),
        intents.c.state == spelled_out("held"),
        intents.c.retry_at.is_not(None),
        intents.c.retry_at <= bindparam("now"),
    )
    .limit(bindparam("limit"))
)

_IDLE = (
    select(streams.c.shard, streams.c.tenant, streams.c.commit_key)
    .where(
        _of_shards(streams, "shards"),
        streams.c.finished.is_(None),
        streams.c.commit_key != spelled_out(EFFECTS_STREAM),
        streams.c.last_at < func.now() - bindparam("idle", type_=Interval),
    )
    .limit(bindparam("limit"))
)
