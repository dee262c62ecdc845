"""What a sealing round finds: the events that are committed and not sealed, as runs of one stream each.

One statement, so one snapshot: a stream's row says how far its committed events reach, and they are all visible with
it. The events never leave the database; what comes back is the hashes of their envelopes.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ledger.evidence.tree import HASH_BYTES
from ledger.session import driver_connection
from ledger.sharding import StreamName, shard_of

BEGINNING = StreamName(-1, "", "")
"""Before every stream."""

# `before` counts what waits in the streams in front, so that a round is bounded and the last run is cut to fit. Events are
# counted and not taken from the stream's row: a row that promises what is not there must not use up the round of others.
_DUE = """
with marked as materialized (
    select s.shard, s.tenant, s.commit_key, s.seq, coalesce(sealed.last_seq, 0) as sealed
    from ledger.streams s
    left join lateral (
        select p.last_seq from ledger.seals p
        where p.shard = s.shard and p.tenant = s.tenant and p.commit_key = s.commit_key
        order by p.first_seq desc limit 1
    ) sealed on true
    where s.unsealed and (s.shard, s.tenant, s.commit_key) > (%(shard)s, %(tenant)s, %(commit_key)s)
    order by s.shard, s.tenant, s.commit_key limit %(streams)s
), waiting as materialized (
    select m.*, (
        select count(*) from (
            select from ledger.events e
            where e.shard = m.shard and e.tenant = m.tenant and e.commit_key = m.commit_key
                and e.seq > m.sealed and e.seq <= m.seq
            limit %(events)s
        ) there
    ) as number
    from marked m
), counted as materialized (
    select w.*, sum(w.number)
        over (order by w.shard, w.tenant, w.commit_key rows between unbounded preceding and current row)
        - w.number as before
    from waiting w
)
select c.shard, c.tenant, c.commit_key, c.sealed, c.seq, run.last_seq, found.hashes, found.oldest,
    clock_timestamp()
from counted c
cross join lateral (select least(c.seq, c.sealed + %(events)s - c.before)::bigint as last_seq) run
left join lateral (
    select min(e.at) as oldest,
        string_agg(sha256('\\x00'::bytea || convert_to(ledger.envelope(e), 'UTF8')), ''::bytea order by e.seq)
            as hashes
    from ledger.events e
    where e.shard = c.shard and e.tenant = c.tenant and e.commit_key = c.commit_key
        and e.seq > c.sealed and e.seq <= run.last_seq
) found on c.seq > c.sealed
where c.before < %(events)s
order by c.shard, c.tenant, c.commit_key
"""

_UNMARKED = """
select s.shard, s.tenant, s.commit_key from ledger.streams s
left join lateral (
    select p.last_seq from ledger.seals p
    where p.shard = s.shard and p.tenant = s.tenant and p.commit_key = s.commit_key
    order by p.first_seq desc limit 1
) sealed on true
where s.shard between 0 and 255 and not s.unsealed and s.seq > coalesce(sealed.last_seq, 0)
order by s.shard, s.tenant, s.commit_key limit 1
"""

# One step down the index for each stream of events, whatever their number. What a round would seal of it has to be all that
# is there: a row that says as much, no gap behind what is sealed, and the shard in which every reader looks for it.
_STRAY = """
with recursive named as (
    (select e.shard, e.tenant, e.commit_key from ledger.events e where e.shard between 0 and 255
        order by e.shard, e.tenant, e.commit_key limit 1)
    union all
    select next.shard, next.tenant, next.commit_key
    from named n
    cross join lateral (
        select e.shard, e.tenant, e.commit_key from ledger.events e
        where e.shard between n.shard and 255 and (e.shard, e.tenant, e.commit_key) > (n.shard, n.tenant, n.commit_key)
        order by e.shard, e.tenant, e.commit_key limit 1
    ) next
)
select n.shard, n.tenant, n.commit_key
from named n
left join ledger.streams s on s.shard = n.shard and s.tenant = n.tenant and s.commit_key = n.commit_key
cross join lateral (
    select max(p.last_seq) as last_seq from ledger.seals p
    where p.shard = n.shard and p.tenant = n.tenant and p.commit_key = n.commit_key
) sealed
cross join lateral (
    select coalesce(max(e.seq), coalesce(sealed.last_seq, 0)) as last_seq, count(*) as number from ledger.events e
    where e.shard = n.shard and e.tenant = n.tenant and e.commit_key = n.commit_key and e.seq > coalesce(sealed.last_seq, 0)
) waiting
where s.seq is null or s.seq <> waiting.last_seq or waiting.number <> waiting.last_seq - coalesce(sealed.last_seq, 0)
    or waiting.number > 0 and n.shard <> get_byte(sha256(
        int4send(octet_length(convert_to(n.tenant, 'UTF8'))) || convert_to(n.tenant, 'UTF8')
        || int4send(octet_length(convert_to(n.commit_key, 'UTF8'))) || convert_to(n.commit_key, 'UTF8')), 0)
limit 1
"""

_BEYOND = """
select p.shard, p.tenant, p.commit_key from ledger.seals p
where p.shard between 0 and 255 and p.first_index + p.last_seq - p.first_seq >= (select l.size from ledger.log l)
order by p.first_index desc limit 1
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Events of one stream, ``first_seq`` to ``last_seq``: their leaf hashes, and when the oldest was written."""

    stream: StreamName
    first_seq: int
    last_seq: int
    hashes: bytes
    oldest: datetime

    def __len__(self) -> int:
        return self.last_seq - self.first_seq + 1


@dataclass(frozen=True, slots=True)
class Due:
    """What was found, and where to go on.

    ``idle``: streams that are marked and of which nothing waits, with their seq. ``broken``: streams whose row says
    another seq than their events, or stands in another shard than theirs; nothing of them is sealed. ``reached``: the last stream
    looked at, BEGINNING where none is left behind it. ``now``: the database's clock; None where nothing was found.
    """

    runs: tuple[Run, ...]
    idle: tuple[tuple[StreamName, int], ...]
    broken: tuple[StreamName, ...]
    reached: StreamName
    now: datetime | None


def find_due(connection: Connection, *, after: StreamName, max_streams: int, max_events: int) -> Due:
    """Look at up to ``max_streams`` marked streams behind ``after``; find up to ``max_events`` that wait."""
    values = {**after.columns(), "streams": max_streams, "events": max_events}
    # Planned anew each time: a plan from when the tables were empty would read them whole.
    rows = driver_connection(connection).execute(_DUE, values, prepare=False, binary=True).fetchall()
    runs, idle, broken = [], [], []
    taken, cut, stream, now = 0, False, BEGINNING, None
    for shard, tenant, commit_key, sealed, seq, last_seq, hashes, oldest, now in rows:  # noqa: B007
        stream = StreamName(shard, tenant, commit_key)
        if seq == sealed:
            idle.append((stream, seq))
        elif (
            shard != shard_of(tenant, commit_key)
            or hashes is None
            or len(hashes) != (last_seq - sealed) * HASH_BYTES
        ):
            broken.append(stream)
        else:
            runs.append(Run(stream, sealed + 1, last_seq, hashes, oldest))
        taken += len(hashes or b"") // HASH_BYTES
        cut = sealed < last_seq < seq
    full = len(rows) == max_streams or taken >= max_events
    # A run that was cut goes on in the next round that comes around, so that one stream cannot keep others waiting.
    reached = stream if full or cut else BEGINNING
    return Due(tuple(runs), tuple(idle), tuple(broken), reached, now)


def find_unmarked(connection: Connection) -> StreamName | None:
    """A stream that reaches beyond what is sealed of it and is not marked, so that no round looks at it; None: there is none.

    Whoever writes events sets the mark with them, so somebody took it off; ``ledger rebuild`` sets it again.
    """
    row = driver_connection(connection).execute(_UNMARKED, prepare=False).fetchone()
    return None if row is None else StreamName(*row)


def find_stray(connection: Connection) -> StreamName | None:
    """A stream with events that no round will ever seal, as they stand; None: there is none.

    Its row is missing or says another seq than its events, or one of these is missing: somebody wrote past the ledger.
    """
    row = driver_connection(connection).execute(_STRAY, prepare=False).fetchone()
    return None if row is None else StreamName(*row)


def find_beyond(connection: Connection) -> StreamName | None:
    """A stream with a place beyond the log's end, which counts as sealed and which no reader comes by; None: there is none."""
    row = driver_connection(connection).execute(_BEYOND, prepare=False).fetchone()
    return None if row is None else StreamName(*row)
