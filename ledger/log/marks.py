"""Taking the mark off streams of which nothing waits, without ever waiting for a writer.

A stream that gets events in every round keeps its mark, which costs its writers nothing. The mark goes only where the
stream still stands where it was sealed, under the lock of its row: whoever appends later sets it again. A row that a
writer holds is left marked.
"""

from collections.abc import Sequence

from sqlalchemy import Engine

from ledger.faults import RowHeld
from ledger.log.places import transaction
from ledger.session import driver_connection
from ledger.sharding import StreamName

Idle = tuple[StreamName, int]
"""A stream, and the seq up to which it is sealed."""

_UNMARK = """
with idle as materialized (
    select s.shard, s.tenant, s.commit_key, s.seq
    from unnest(%s::smallint[], %s::text[], %s::text[], %s::bigint[]) as given (shard, tenant, commit_key, seq)
    join ledger.streams s using (shard, tenant, commit_key)
    where s.seq = given.seq and s.unsealed
    order by s.shard, s.tenant, s.commit_key
    for update of s nowait
)
update ledger.streams s set unsealed = false from idle
where s.shard = idle.shard and s.tenant = idle.tenant and s.commit_key = idle.commit_key and s.seq = idle.seq
"""


def unmark(engine: Engine, idle: Sequence[Idle]) -> list[StreamName]:
    """Take the mark off; the streams of which a writer holds the row, so that it stayed.

    Raises LedgerUnavailable.
    """
    if not idle:
        return []
    try:
        with transaction(engine) as connection:
            driver_connection(connection).execute(_UNMARK, _columns(idle), prepare=False)
    except RowHeld:
        if len(idle) == 1:
            return [idle[0][0]]
    else:
        return []
    middle = len(idle) // 2
    return unmark(engine, idle[:middle]) + unmark(engine, idle[middle:])


def _columns(idle: Sequence[Idle]) -> tuple[list[int], list[str], list[str], list[int]]:
    names = [stream for stream, _ in idle]
    return (
        [name.shard for name in names],
        [name.tenant for name in names],
        [name.commit_key for name in names],
        [seq for _, seq in idle],
    )
