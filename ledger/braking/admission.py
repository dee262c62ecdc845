"""Admission: a call of a limited tool asks here before it is claimed, whichever dispatcher of the ledger it is.

One row a limited tool is locked for the moment of asking, so that dispatchers take turns; tools without limits never come
here. A call that is let in counts against the concurrency until its licence is closed, so a slot needs no giving back
where a process dies; one that was let in and not licensed is forgotten after ``FORGOTTEN`` seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    and_,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from effects.limits import Bucket, Limits, draw
from ledger.braking.schema import admissions, buckets
from ledger.schema import dispatches
from ledger.session import single, transaction
from ledger.sharding import StreamName, shard_of_tenant

FORGOTTEN = 30.0
"""Seconds after which a call that was let in and never licensed counts no more."""

LOOK_AGAIN = 0.05
"""Seconds after which it is worth asking again where all places are taken."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks: an intent, and how often it was sent before. ``limits``: by tool, ``*`` for all tools together."""

    stream: StreamName
    intent_id: str
    after_attempt: int
    limits: Mapping[str, Limits]


@dataclass(frozen=True, slots=True)
class Admission:
    """The call is let in since ``at``, by the database's clock. ``alone``: no other dispatcher is about to send it too."""

    at: datetime
    alone: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """No room: ask again after ``wait`` seconds. ``tool``: whose limit it is (``*``: that of all); ``limit``: which one."""

    tool: str
    limit: str
    wait: float


@dataclass(frozen=True, slots=True)
class Use:
    """How much of its limits a tool uses at present. ``running``: its calls that hold a place."""

    tool: str
    running: int


class Admissions:
    """Lets calls in. ``engine``: from ``ledger.connect``. All raise LedgerUnavailable."""

    def __init__(self, engine: Engine) -> None:
        """See the class."""
        self._engine = engine

    def ask(self, asking: Asking) -> Admission | Refusal:
        """Let the call in, and it has its places; else why not, and nothing is taken of any limit."""
        tenant = asking.stream.tenant
        with transaction(self._engine) as connection, connection.begin():
            # In one order, so that nobody waits for each other in a ring.
            rows = [_locked(connection, tenant, tool) for tool in sorted(asking.limits)]
            now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
            taken: list[tuple[str, Bucket]] = []
            for row in rows:
                limits = asking.limits[row.tool]
                refusal = _without_place(connection, tenant, row.tool, limits, asking, now)
                if refusal is None and limits.rate is not None:
                    bucket, wait = draw(limits.rate, _bucket(row), now)
                    refusal = Refusal(row.tool, "rate", wait) if wait else None
                    taken.append((row.tool, bucket))
                if refusal is not None:
                    return refusal
            waits = select(exists().where(_mine(asking), ~_is_sent(), _runs(literal(now))))
            alone = not connection.execute(waits).scalar_one()
            _write(connection, asking, taken, now)
        return Admission(now, alone)

    def give_back(self, asking: Asking, admission: Admission) -> None:
        """The call was let in and is not sent after all: its places are free; what it took of a rate is not given back.

        Where another dispatcher was let in with the same call, it may be the one who sends it: then they are kept.
        """
        if not admission.alone:
            return
        mine = and_(_mine(asking), admissions.c.at == admission.at, ~_is_sent())
        with single(self._engine) as connection:
            connection.execute(delete(admissions).where(mine))

    def uses(self, tenant: str) -> list[Use]:
        """What is used of the limits of a tenant's tools."""
        here = and_(buckets.c.shard == shard_of_tenant(tenant), buckets.c.tenant == tenant)
        running = (
            select(func.count())
            .select_from(admissions)
            .where(_of_tool(tenant, buckets.c.tool), _runs(func.clock_timestamp()))
            .correlate(buckets)
            .scalar_subquery()
        )
        with single(self._engine) as connection:
            rows = connection.execute(
                select(buckets.c.tool, running.label("running")).where(here).order_by(buckets.c.tool)
            )
            return [Use(row.tool, row.running) for row in rows]


def _locked(connection: Connection, tenant: str, tool: str) -> Row[tuple[object, ...]]:
    place = {"shard": shard_of_tenant(tenant), "tenant": tenant, "tool": tool}
    here = and_(*(buckets.c[name] == value for name, value in place.items()))
    while True:
        row = connection.execute(select(buckets).where(here).with_for_update()).one_or_none()
        if row is not None:
            return row
        # In the past: a bucket that was never used is full.
        first = insert(buckets).values(**place, left_over=0.0, at=func.to_timestamp(0))
        connection.execute(first.on_conflict_do_nothing())


def _bucket(row: Row[tuple[object, ...]]) -> Bucket:
    return Bucket(row.left_over, row.at)


def _without_place(
    connection: Connection, tenant: str, tool: str, limits: Limits, asking: Asking, now: datetime
) -> Refusal | None:
    if limits.concurrency is None:
        return None
    here = _of_tool(tenant, tool)
    connection.execute(delete(admissions).where(here, ~_runs(literal(now))))
    others = or_(
        admissions.c.commit_key != asking.stream.commit_key, admissions.c.intent_id != asking.intent_id
    )
    running = connection.execute(
        select(func.count()).select_from(admissions).where(here, others)
    ).scalar_one()
    return Refusal(tool, "concurrency", LOOK_AGAIN) if running >= limits.concurrency else None


def _of_tenant(tenant: str) -> ColumnElement[bool]:
    return and_(admissions.c.shard == shard_of_tenant(tenant), admissions.c.tenant == tenant)


def _of_tool(tenant: str, tool: str | ColumnElement[str]) -> ColumnElement[bool]:
    return and_(_of_tenant(tenant), admissions.c.tool == tool)


def _runs(now: ColumnElement[datetime]) -> ColumnElement[bool]:
    """Whether the call that was let in is under way: licensed and without an outcome, or about to be licensed."""
    licensed = exists().where(_licence()).correlate(admissions)
    fresh = admissions.c.at > now - timedelta(seconds=FORGOTTEN)
    return or_(_is_sent(), and_(~licensed, fresh))


def _is_sent() -> ColumnElement[bool]:
    """Whether the call that was let in is licensed, and without an outcome."""
    return exists().where(_licence(), dispatches.c.open).correlate(admissions)


def _licence() -> ColumnElement[bool]:
    return and_(
        dispatches.c.shard == admissions.c.stream_shard,
        dispatches.c.tenant == admissions.c.tenant,
        dispatches.c.commit_key == admissions.c.commit_key,
        dispatches.c.intent_id == admissions.c.intent_id,
        dispatches.c.attempt > admissions.c.after_attempt,
    )


def _mine(asking: Asking) -> ColumnElement[bool]:
    return and_(
        _of_tenant(asking.stream.tenant),
        admissions.c.commit_key == asking.stream.commit_key,
        admissions.c.intent_id == asking.intent_id,
    )


def _write(
    connection: Connection, asking: Asking, taken: Sequence[tuple[str, Bucket]], now: datetime
) -> None:
    tenant, stream = asking.stream.tenant, asking.stream
    place = {"shard": shard_of_tenant(tenant), "tenant": tenant}
    for tool, bucket in taken:
        here = and_(*(buckets.c[name] == value for name, value in {**place, "tool": tool}.items()))
        connection.execute(update(buckets).where(here).values(left_over=bucket.left, at=bucket.at))
    for tool, limits in asking.limits.items():
        if limits.concurrency is None:
            continue
        of_call = {"stream_shard": stream.shard, "after_attempt": asking.after_attempt, "at": now}
        row = {
            **place,
            "tool": tool,
            "commit_key": stream.commit_key,
            "intent_id": asking.intent_id,
            **of_call,
        }
        statement = insert(admissions).values(row)
        connection.execute(statement.on_conflict_do_update(constraint="admissions_pkey", set_=of_call))
