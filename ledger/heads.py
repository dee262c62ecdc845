"""How far streams have come: one question about many, for those who wait for events of them."""

from collections.abc import Collection

from sqlalchemy import Engine, text

from ledger.session import single
from ledger.sharding import StreamName

_HEADS = text("""
select s.shard, s.tenant, s.commit_key, s.seq
from unnest(cast(:shards as smallint[]), cast(:tenants as text[]), cast(:keys as text[]))
    as wanted (shard, tenant, commit_key)
join ledger.streams s using (shard, tenant, commit_key)
""")


def read_heads(engine: Engine, names: Collection[StreamName]) -> dict[StreamName, int]:
    """The seq of each stream of ``names`` that exists. Raises LedgerUnavailable."""
    if not names:
        return {}
    values = {
        "shards": [name.shard for name in names],
        "tenants": [name.tenant for name in names],
        "keys": [name.commit_key for name in names],
    }
    with single(engine) as connection:
        rows = connection.execute(_HEADS, values).all()
    return {StreamName(row.shard, row.tenant, row.commit_key): row.seq for row in rows}
