"""The second step of a redaction: payloads and salts go, under the redactor's login, as far as recorded events name them.

It may be done again at any time: what is gone is passed over. The database refuses everything that no event names, and
takes the stream's answers to batches away with it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine, SmallInteger, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY

from ledger.session import single
from ledger.sharding import SHARDS, StreamName


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A redaction whose second step is not done: ``left`` payloads that the event at ``seq`` names are still there."""

    tenant: str
    commit_key: str
    intent_id: str
    seq: int
    at: datetime
    left: int


class Purger:
    """Takes payloads away. ``engine``: from ``ledger.connect``, of a login in ``commitgate_redactor``. All raise
    LedgerUnavailable.
    """

    def __init__(self, engine: Engine) -> None:
        """See the class."""
        self._engine = engine

    def pending(self, tenant: str) -> list[Unfinished]:
        """The redactions of a tenant that are recorded and not done, by stream and seq."""
        with single(self._engine) as connection:
            rows = connection.execute(_PENDING, {"shards": list(range(SHARDS)), "tenant": tenant}).all()
        return [
            Unfinished(r.tenant, r.commit_key, r.intent_id, r.seq, r.at.astimezone(UTC), r.left) for r in rows
        ]

    def purge(self, tenant: str, commit_key: str) -> int:
        """Take away every payload and salt that the redactions of a stream name, all or none; how many there still were."""
        with single(self._engine) as connection:
            return connection.execute(_PURGE, StreamName.of(tenant, commit_key).columns()).rowcount


# Events that name others are few, and have an index of their own.
_PENDING = text("""
select r.tenant, r.commit_key, r.intent_id, r.seq, r.at, count(*) as left
from ledger.events r
cross join lateral json_array_elements_text(r.payload::json -> 'seqs') as named (seq)
join ledger.events e on e.shard = r.shard and e.tenant = r.tenant and e.commit_key = r.commit_key
    and e.seq = named.seq::bigint and e.payload is not null
where r.shard = any(:shards) and r.tenant = :tenant and r.type = 'payload.redacted'
group by r.shard, r.tenant, r.commit_key, r.seq, r.intent_id, r.at
order by r.shard, r.tenant, r.commit_key, r.seq
""").bindparams(bindparam("shards", type_=ARRAY(SmallInteger)))

_PURGE = text("""
update ledger.events e set payload = null, salt = null
where e.shard = :shard and e.tenant = :tenant and e.commit_key = :commit_key and e.payload is not null
    and e.seq in (
        select named.seq::bigint
        from ledger.events r
        cross join lateral json_array_elements_text(r.payload::json -> 'seqs') as named (seq)
        where r.shard = :shard and r.tenant = :tenant and r.commit_key = :commit_key and r.type = 'payload.redacted'
    )
""")
