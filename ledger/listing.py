"""Lists for people: streams and intents of a tenant, newest first. Not for programs that must not miss one."""

from dataclasses import dataclass

from sqlalchemy import Engine, Select, exists, extract, func, select

from effects.intent import IntentState
from ledger.events import EFFECTS_STREAM, EventType
from ledger.schema import events, intents, spelled_out, streams
from ledger.sharding import SHARDS


def list_streams(engine: Engine, tenant: str, *, limit: int) -> list[dict[str, object]]:
    """At most ``limit`` streams of ``tenant``, the last opened first."""
    query = (
        select(streams)
        .where(
            streams.c.shard.in_(range(SHARDS)),
            streams.c.tenant == tenant,
            streams.c.commit_key != EFFECTS_STREAM,
        )
        .order_by(streams.c.opened_at.desc(), streams.c.commit_key)
        .limit(limit)
    )
    return _rows(engine, query)


def list_intents(
    engine: Engine, tenant: str, *, state: IntentState | None = None, limit: int
) -> list[dict[str, object]]:
    """At most ``limit`` intents of ``tenant`` (in ``state``, if given), the latest commit keys first."""
    query = select(intents).where(intents.c.shard.in_(range(SHARDS)), intents.c.tenant == tenant)
    if state is not None:
        query = query.where(intents.c.state == state.value)
    query = query.order_by(
        intents.c.commit_key.desc(), intents.c.span_start, intents.c.ordinal, intents.c.round
    )
    return _rows(engine, query.limit(limit))


def list_awaiting_approval(engine: Engine, tenant: str, *, limit: int) -> list[dict[str, object]]:
    """At most ``limit`` intents of ``tenant`` that await a person's approval, the latest commit keys first."""
    awaiting = spelled_out(IntentState.AWAITING_APPROVAL.value)
    query = (
        select(intents)
        .where(intents.c.shard.in_(range(SHARDS)), intents.c.tenant == tenant, intents.c.state == awaiting)
        .order_by(intents.c.commit_key.desc(), intents.c.span_start, intents.c.ordinal)
        .limit(limit)
    )
    return _rows(engine, query)


def count_awaiting_approval(engine: Engine) -> int:
    """How many intents of all tenants await a person's approval now."""
    awaiting = spelled_out(IntentState.AWAITING_APPROVAL.value)
    query = select(func.count()).where(intents.c.shard.in_(range(SHARDS)), intents.c.state == awaiting)
    with engine.connect() as connection:
        return int(connection.execute(query).scalar_one())


def has_events(engine: Engine, tenant: str) -> bool:
    """Whether anything of ``tenant`` is recorded."""
    query = select(exists().where(events.c.shard.in_(range(SHARDS)), events.c.tenant == tenant))
    with engine.connect() as connection:
        return bool(connection.execute(query).scalar_one())


@dataclass(frozen=True, slots=True)
class OpenDoubts:
    """The intents in doubt of all tenants. ``oldest_seconds``: how long the oldest has been; 0 if there is none."""

    count: int
    oldest_seconds: float


def open_doubts(engine: Engine) -> OpenDoubts:
    """How many intents are in doubt now, and for how long, by the database's clock."""
    in_doubt = spelled_out(IntentState.IN_DOUBT.value)
    since = (
        select(func.max(events.c.at))
        .where(
            *(events.c[name] == intents.c[name] for name in ("shard", "tenant", "commit_key", "intent_id")),
            events.c.type == EventType.DISPATCH_IN_DOUBT.value,
        )
        .scalar_subquery()
    )
    open_now = (
        select(since.label("since")).where(intents.c.shard.in_(range(SHARDS)), intents.c.state == in_doubt)
    ).subquery()
    age = extract("epoch", func.clock_timestamp() - func.min(open_now.c.since))
    with engine.connect() as connection:
        count, oldest = connection.execute(select(func.count(), age).select_from(open_now)).one()
    return OpenDoubts(int(count), max(0.0, float(oldest or 0.0)))


def _rows(engine: Engine, query: Select[*tuple[object, ...]]) -> list[dict[str, object]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]
