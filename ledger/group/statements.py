"""The statements of a group commit, each over all of its streams at once: rows travel as one JSON parameter.

A list of values costs the driver many times what one JSON text does (reference figures: unnest x0.15, COPY x1), and one
statement a table keeps the number of round trips the same for one stream and for hundreds. Every statement names
the shard of each row.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from sqlalchemy import Column, Table
from sqlalchemy.dialects import postgresql

from ledger.schema import batches, intents, streams

KEY = ("shard", "tenant", "commit_key")
_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]

COPY_EVENTS = (
    "copy ledger.events (shard, tenant, commit_key, seq, type, branch, intent_id, attempt, head_after,"
    " cut_at, at, payload, salt, payload_digest) from stdin"
)


def _typed(columns: Iterable[Column[Any]]) -> str:
    return ", ".join(f"{column.name} {column.type.compile(_DIALECT)}" for column in columns)


def _recordset(columns: Iterable[Column[Any]], extra: str = "") -> str:
    return f"json_to_recordset(%s::json) as r ({_typed(columns)}{extra})"


def _names(columns: Sequence[Column[Any]], prefix: str = "") -> str:
    return ", ".join(f"{prefix}{column.name}" for column in columns)


def _upsert(table: Table) -> str:
    key = [column.name for column in table.primary_key]
    changed = [column.name for column in table.c if column.name not in key]
    return f"""
insert into {table.fullname} ({_names(list(table.c))}) select {_names(list(table.c), "r.")}
from {_recordset(table.c)}
on conflict ({", ".join(key)}) do update set {", ".join(f"{name} = excluded.{name}" for name in changed)}
"""  # noqa: S608


_STREAM_MOVES = [column.name for column in streams.c if column.name not in KEY]
_SAME = "s.shard = {0}.shard and s.tenant = {0}.tenant and s.commit_key = {0}.commit_key"

MOVE_STREAMS = f"""
with incoming as materialized (
    select * from {_recordset(streams.c, ", before bigint")}
), held as materialized (
    select s.shard, s.tenant, s.commit_key from ledger.streams s join incoming i on {_SAME.format("i")}
    order by s.shard, s.tenant, s.commit_key for no key update of s
)
update ledger.streams s set {", ".join(f"{name} = i.{name}" for name in _STREAM_MOVES)}
from incoming i join held h on h.shard = i.shard and h.tenant = i.tenant and h.commit_key = i.commit_key
where {_SAME.format("i")} and s.seq = i.before
returning s.shard, s.tenant, s.commit_key
"""  # noqa: S608 - made of column names alone
"""Rows are locked in the order of their key, so that groups of several processes never wait for each other in a ring."""

WAIT_SHORTLY = "select set_config('lock_timeout', '200ms', true)"
"""For the transaction of a group: nobody waits long for a row of a neighbour that somebody else holds."""

BEGIN_STREAMS = f"""
insert into ledger.streams ({_names(list(streams.c))}) select {_names(list(streams.c), "r.")}
from {_recordset(streams.c)}
order by r.shard, r.tenant, r.commit_key
on conflict do nothing
returning shard, tenant, commit_key
"""  # noqa: S608

KEEP_BATCHES = f"""
insert into ledger.batches (shard, tenant, commit_key, batch_id, body_digest, response)
select r.shard, r.tenant, r.commit_key, r.batch_id, decode(r.body_digest, 'hex'), r.response
from json_to_recordset(%s::json)
    as r (shard smallint, tenant text, commit_key text, batch_id text, body_digest text, response text)
order by r.shard, r.tenant, r.commit_key, r.batch_id
on conflict ({", ".join(column.name for column in batches.primary_key)}) do nothing
returning shard, tenant, commit_key, batch_id
"""  # noqa: S608

GRANT_LICENCES = """
insert into ledger.dispatches (shard, tenant, commit_key, intent_id, attempt, branch, effect, once_key, worker, epoch,
    lease_until, started_seq, open)
select r.shard, r.tenant, r.commit_key, r.intent_id, r.attempt, r.branch, r.effect, r.once_key, r.worker, r.epoch,
    clock_timestamp() + make_interval(secs => r.lease_seconds), r.started_seq, true
from json_to_recordset(%s::json)
    as r (shard smallint, tenant text, commit_key text, intent_id text, attempt int, branch text, effect text,
        once_key text, worker text, epoch bigint, lease_seconds double precision, started_seq bigint)
order by r.shard, r.tenant, r.commit_key, r.intent_id
"""

CLOSE_LICENCES = """
update ledger.dispatches d
set open = false, lease_until = least(d.lease_until, clock_timestamp()), unsent = d.unsent or r.unsent,
    once_key = case when r.unsent then null else d.once_key end
from json_to_recordset(%s::json)
    as r (shard smallint, tenant text, commit_key text, intent_id text, attempt int, epoch bigint, worker text,
        unsent boolean)
where d.shard = r.shard and d.tenant = r.tenant and d.commit_key = r.commit_key and d.intent_id = r.intent_id
    and d.attempt = r.attempt and d.epoch = r.epoch and d.open and (r.worker is null or d.worker = r.worker)
returning d.shard, d.tenant, d.commit_key, d.intent_id, d.attempt
"""

PUT_INTENTS = _upsert(intents)
ANNOUNCE = "select pg_notify('commitgate', '')"


def rows_json(rows: Sequence[dict[str, object]]) -> str:
    """Rows as the JSON parameter of these statements."""
    return orjson.dumps(rows, option=orjson.OPT_UTC_Z).decode()
