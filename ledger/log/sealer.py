"""Sealing: each committed event gets one log index, events of a stream in the order of their seq.

A round is one transaction that holds the log's row, so it happens whole or not at all, and never two at once. The
lease in that row only says who need not try: a sealer that lost it, or sleeps through it, can do no harm.
"""

import os
import secrets
import socket
import time
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from ledger.evidence.tiles import grown
from ledger.faults import RowHeld
from ledger.log.due import BEGINNING, Due, Run, find_due
from ledger.log.marks import Idle, unmark
from ledger.log.places import transaction
from ledger.log.store import Edge, moved_edge, read_edge, write_tiles
from ledger.server import server_of
from ledger.session import driver_connection
from ledger.sharding import StreamName

LEASE_SECONDS = 1.0
LONGEST_LEASE = 60.0
"""Seconds that a lease may last; one that ends later was not taken by this clock, and holds nobody back."""
MAX_EVENTS = 20_000
MAX_STREAMS = 5_000
STILL_ROUNDS = 4
"""Rounds in which a stream stands still before its mark is taken off."""

_REST_ROUNDS = 20
"""Rounds for which the mark of a stream is left alone whose row a writer held."""

# A sealer that stops in the middle of a round must not keep the row from the others.
_TAKE = """
select size, set_config('idle_in_transaction_session_timeout', '5s', true), set_config('jit', 'off', true)
from ledger.log
where sealer is null or sealer = %(sealer)s or not %(heeding)s or lease_until <= clock_timestamp()
    or lease_until > clock_timestamp() + make_interval(secs => %(longest)s)
for update nowait
"""
_GROW = """
update ledger.log
set size = %(size)s, sealer = %(sealer)s, lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
"""
_RESIGN = """
with held as materialized (select from ledger.log where sealer = %(sealer)s for update nowait)
update ledger.log set lease_until = clock_timestamp() where exists (select from held)
"""
_SEAL = """
insert into ledger.seals (shard, tenant, commit_key, first_seq, last_seq, first_index)
select * from unnest(%s::smallint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[])
"""


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a round did: ``events`` events got the indexes from ``first_index`` on; ``size`` is the log's size now.

    ``lag_seconds``: age of the oldest of them when it was sealed, by the database's clock; 0.0 where there was none.
    ``leading``: False where another sealer holds the lease and nothing was done; ``size`` is then the last one known
    here. ``more``: the round was bounded, and another should follow at once. ``broken``: streams that cannot be sealed,
    because their row says another seq than their events (``ledger rebuild`` mends it), or stands in another shard.
    """

    first_index: int
    size: int
    events: int = 0
    lag_seconds: float = 0.0
    leading: bool = True
    more: bool = False
    broken: tuple[StreamName, ...] = ()


class Sealer:
    """Seals what is committed, a round at a time. One per process, used by one thread.

    ``engine``: from ``ledger.connect``. ``name``: who holds the lease; made of host and process where it is left out.
    ``lease_seconds``: for how long others leave sealing to this one after a round in which it sealed something, LONGEST_LEASE
    at most.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        name: str | None = None,
        lease_seconds: float = LEASE_SECONDS,
        max_events: int = MAX_EVENTS,
        max_streams: int = MAX_STREAMS,
    ) -> None:
        """See the class; ``max_events`` and ``max_streams`` bound a round."""
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._engine = engine
        self._lease_seconds = min(lease_seconds, LONGEST_LEASE)
        self._max_events = max_events
        self._max_streams = max_streams
        self._size = 0
        self._edge: Edge | None = None
        self._server = server_of(engine)
        self._met = 0
        self._after = BEGINNING
        self._round = 0
        self._resting: dict[StreamName, int] = {}
        self._idle: dict[Idle, int] = {}

    def round(self, *, heeding: bool = True) -> Sealed:
        """Seal what is found now. Raises LedgerUnavailable: then the round happened whole or not at all.

        ``heeding``: leave sealing to who holds the lease. It only spares work, so whoever cannot wait may do without.
        """
        self._round += 1
        edge, self._edge = self._edge, None
        try:
            with transaction(self._engine) as connection:
                size = self._take(connection, heeding=heeding)
                if size is None:
                    return Sealed(self._size, self._size, leading=False)
                met = self._server.changes
                if edge is None or size != self._size or met != self._met:
                    # Somebody else has sealed, the answer to a COMMIT was lost, or another database answers.
                    edge, self._met = read_edge(connection, size), met
                due = self._find(connection)
                found_at = time.monotonic()
                if due.runs:
                    edge = self._seal(connection, size, edge, due)
        except RowHeld:
            return Sealed(self._size, self._size, leading=False)
        lag = _age(due) + time.monotonic() - found_at if due.runs else 0.0
        events = sum(len(run) for run in due.runs)
        self._size, self._edge = size + events, edge
        before, self._after = self._after, due.reached
        unmarked = self._unmark(due.idle, whole=before == due.reached == BEGINNING)
        # Bounded, or begun in the middle: the streams that were not looked at come next.
        more = bool(due.runs or unmarked) if due.reached != BEGINNING else before != BEGINNING
        return Sealed(size, size + events, events, lag, more=more, broken=due.broken)

    def resign(self) -> None:
        """Let the lease end now: the next one who looks seals, and need not wait for it to run out.

        Nothing where another process seals. Raises LedgerUnavailable.
        """
        # The row is held where somebody else is sealing already.
        with suppress(RowHeld), transaction(self._engine) as connection:
            driver_connection(connection).execute(_RESIGN, {"sealer": self.name}, prepare=False)

    def _take(self, connection: Connection, *, heeding: bool) -> int | None:
        """Lock the log's row; its size, or None where another sealer holds the lease."""
        values = {"sealer": self.name, "heeding": heeding, "longest": LONGEST_LEASE}
        row = driver_connection(connection).execute(_TAKE, values, prepare=False).fetchone()
        return None if row is None else int(row[0])

    def _find(self, connection: Connection) -> Due:
        return find_due(
            connection, after=self._after, max_streams=self._max_streams, max_events=self._max_events
        )

    def _seal(self, connection: Connection, size: int, edge: Edge, due: Due) -> Edge:
        runs = sorted(due.runs, key=lambda run: run.oldest)
        hashes = b"".join([run.hashes for run in runs])
        tiles = grown(lambda level, tile: edge.get((level, tile), b""), size, hashes)
        write_tiles(connection, tiles)
        values = {"size": size + sum(map(len, runs)), "sealer": self.name, "lease": self._lease_seconds}
        driver_connection(connection).execute(_GROW, values, prepare=False)
        # Behind the log's growth: the database takes no places beyond its end.
        _write_seals(connection, size, runs)
        return moved_edge(edge, tiles)

    def _unmark(self, idle: tuple[Idle, ...], *, whole: bool) -> int:
        """Take the marks of idle streams away; of how many. ``whole``: the round looked at every marked stream."""
        # Under load a stream is found idle because its next window is just being written: its row is held, and finding
        # that out costs a transaction. One that stands still for some rounds is not.
        before = self._idle
        self._idle = {each: before.get(each, 0) + 1 for each in idle} if whole else {}
        if whole:
            idle = tuple(each for each, rounds in self._idle.items() if rounds >= STILL_ROUNDS)
        self._resting = {name: until for name, until in self._resting.items() if until > self._round}
        given = [each for each in idle if each[0] not in self._resting]
        held = unmark(self._engine, given)
        self._resting.update(dict.fromkeys(held, self._round + _REST_ROUNDS))
        return len(given) - len(held)


def _write_seals(connection: Connection, size: int, runs: list[Run]) -> None:
    first_indexes = []
    for run in runs:
        first_indexes.append(size)
        size += len(run)
    columns = (
        [run.stream.shard for run in runs],
        [run.stream.tenant for run in runs],
        [run.stream.commit_key for run in runs],
        [run.first_seq for run in runs],
        [run.last_seq for run in runs],
        first_indexes,
    )
    driver_connection(connection).execute(_SEAL, columns, prepare=False)


def _age(due: Due) -> float:
    """Seconds for which the oldest event had waited when it was found; a writer's clock may be ahead."""
    if due.now is None:
        return 0.0
    return max((due.now - min(run.oldest for run in due.runs)).total_seconds(), 0.0)
