"""Questions about the log: what is in it, in order; what waits; and proofs of both against what was signed."""

from datetime import UTC

from sqlalchemy import ColumnElement, Connection, Engine, literal_column, select
from sqlalchemy import text as sql

from ledger.errors import NotSealed, ProofRefused, TilesBroken, UnknownEvent
from ledger.evidence.tiles import HEIGHT, WIDTH, consistency_path, inclusion_path, width
from ledger.evidence.tree import HASH_BYTES
from ledger.log.entries import Entry, Inclusion, Page, Pending, StoredCheckpoint, Wanted
from ledger.log.feed import between, read_page
from ledger.log.places import LogState, log_state, transaction
from ledger.log.schema import checkpoints, seals, tiles
from ledger.log.store import tile_reader
from ledger.schema import events, of_stream
from ledger.sharding import StreamName

EVERYTHING = Wanted()

_ENVELOPE: ColumnElement[str] = literal_column("ledger.envelope(events)")

# What waits, found as a round finds it; the first event that waits is the oldest of its stream.
_PENDING = sql("""
select coalesce(sum(least(s.seq - coalesce(sealed.last_seq, 0), 1000000000000)), 0)::bigint as events, min(first.at) as oldest,
    coalesce(greatest(extract(epoch from clock_timestamp() - min(first.at)), 0), 0)::float8 as lag
from ledger.streams s
left join lateral (
    select p.last_seq from ledger.seals p
    where p.shard = s.shard and p.tenant = s.tenant and p.commit_key = s.commit_key
    order by p.first_seq desc limit 1
) sealed on true
join ledger.events first on first.shard = s.shard and first.tenant = s.tenant and first.commit_key = s.commit_key
    and first.seq = coalesce(sealed.last_seq, 0) + 1
where s.unsealed
""")


class LogReader:
    """Reads the log. ``engine``: from ``ledger.connect``. Everything raises LedgerUnavailable, LogMissing. For many threads."""

    def __init__(self, engine: Engine) -> None:
        """See the class."""
        self._engine = engine

    def state(self) -> LogState:
        """The log's name and size."""
        with transaction(self._engine) as connection:
            return log_state(connection)

    def size(self) -> int:
        """Number of sealed events; the next log index."""
        return self.state().size

    def pending(self) -> Pending:
        """What is committed and waits to be sealed; answered also where nobody seals."""
        with transaction(self._engine) as connection:
            row = connection.execute(_PENDING).one()
        return Pending(row.events, row.oldest and row.oldest.astimezone(UTC), row.lag)

    def events(self, after_index: int = -1, limit: int = 1000, wanted: Wanted = EVERYTHING) -> Page:
        """Sealed events with an index above ``after_index`` (-1: from the beginning), at most ``limit`` (at least 1).

        Go on with the page's ``after`` while its ``more`` says so; a page may be empty in between.
        """
        with transaction(self._engine) as connection:
            return read_page(connection, after_index, limit, wanted)

    def entries(self, after_index: int = -1, limit: int = 1000, tenant: str | None = None) -> list[Entry]:
        """The places behind ``after_index`` for an export, without gaps, at most ``limit``.

        ``tenant``: of others' events only the leaf hash is given.
        """
        first = after_index + 1
        with transaction(self._engine) as connection:
            last = min(first + limit, log_state(connection).size) - 1
            if last < first:
                return []
            leaves = _leaf_hashes(connection, first, last)
            query = between(first, last, _ENVELOPE.label("envelope"), events.c.payload, events.c.salt)
            if tenant is not None:
                query = query.where(events.c.tenant == tenant)
            rows = {row.log_index: row for row in connection.execute(query)}
        entries = []
        for place, index in enumerate(range(first, last + 1)):
            leaf, row = leaves[place * HASH_BYTES :][:HASH_BYTES], rows.get(index)
            if row is None:
                entries.append(Entry(index, leaf))
            else:
                salt = None if row.salt is None else bytes(row.salt)
                entries.append(Entry(index, leaf, row.tenant, row.envelope, row.payload, salt))
        return entries

    def checkpoint(self) -> StoredCheckpoint | None:
        """The newest signed checkpoint; None where nothing was signed yet."""
        with transaction(self._engine) as connection:
            return newest_checkpoint(connection)

    def checkpoints(self, after_size: int = -1, limit: int = 1000) -> list[StoredCheckpoint]:
        """Signed checkpoints of trees larger than ``after_size``, by size."""
        query = select(checkpoints).where(checkpoints.c.size > after_size).order_by(checkpoints.c.size)
        with transaction(self._engine) as connection:
            rows = connection.execute(query.limit(limit)).all()
        return [StoredCheckpoint(row.size, row.note, row.at.astimezone(UTC)) for row in rows]

    def index_of(self, tenant: str, commit_key: str, seq: int) -> int:
        """Log index of an event. Raises UnknownEvent, and NotSealed where it has none yet."""
        with transaction(self._engine) as connection:
            return _index_of(connection, StreamName.of(tenant, commit_key), seq)

    def inclusion(self, tenant: str, commit_key: str, seq: int) -> Inclusion:
        """Proof that the newest checkpoint covers an event.

        Raises UnknownEvent; NotSealed where the event is not sealed yet, or no checkpoint covers it yet.
        """
        stream = StreamName.of(tenant, commit_key)
        with transaction(self._engine) as connection:
            index = _index_of(connection, stream, seq)
            signed = newest_checkpoint(connection)
            if signed is None or signed.size <= index:
                raise NotSealed(f"no signed checkpoint covers event {seq} of {commit_key!r} yet")
            query = (
                select(_ENVELOPE).select_from(events).where(of_stream(events, stream), events.c.seq == seq)
            )
            envelope = str(connection.execute(query).scalar_one())
            path = inclusion_path(tile_reader(connection), index, signed.size)
            leaf = _leaf_hashes(connection, index, index)
        return Inclusion(index, signed.size, leaf, envelope, tuple(path), signed.note)

    def consistency(self, old: int, new: int) -> tuple[bytes, ...]:
        """Proof that the tree of ``new`` leaves extends that of ``old`` leaves (RFC 9162, 2.1.4).

        Raises ProofRefused where ``old`` is larger than ``new``, negative, or ``new`` larger than the log.
        """
        with transaction(self._engine) as connection:
            size = log_state(connection).size
            if new > size:
                raise ProofRefused(f"the log has {size} entries, not {new}")
            return tuple(consistency_path(tile_reader(connection), old, new))


def newest_checkpoint(connection: Connection) -> StoredCheckpoint | None:
    """The newest signed checkpoint; None where there is none."""
    query = select(checkpoints).order_by(checkpoints.c.size.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else StoredCheckpoint(row.size, row.note, row.at.astimezone(UTC))


def _index_of(connection: Connection, stream: StreamName, seq: int) -> int:
    query = select(seals).where(of_stream(seals, stream), seals.c.first_seq <= seq)
    row = connection.execute(query.order_by(seals.c.first_seq.desc()).limit(1)).one_or_none()
    if row is None or row.last_seq < seq:
        known = select(events.c.seq).where(of_stream(events, stream), events.c.seq == seq)
        if connection.execute(known).one_or_none() is None:
            raise UnknownEvent(stream.commit_key, seq)
        raise NotSealed(f"event {seq} of {stream.commit_key!r} is not sealed yet")
    return int(row.first_index + seq - row.first_seq)


def _leaf_hashes(connection: Connection, first: int, last: int) -> bytes:
    """Leaf hashes of the indexes ``first`` to ``last``, concatenated, as the tree holds them. Raises TilesBroken."""
    begin = first >> HEIGHT
    query = select(tiles.c.tile, tiles.c.hashes).where(
        tiles.c.level == 0, tiles.c.tile.between(begin, last >> HEIGHT)
    )
    found = {row.tile: bytes(row.hashes) for row in connection.execute(query)}
    for tile in range(begin, (last >> HEIGHT) + 1):
        needed, there = width(0, tile, last + 1), len(found.get(tile, b"")) // HASH_BYTES
        if there < needed:
            raise TilesBroken(0, tile, needed=needed, found=there)
    hashes = b"".join(found[tile] for tile in sorted(found))
    skipped = first - begin * WIDTH
    return hashes[skipped * HASH_BYTES :][: (last - first + 1) * HASH_BYTES]
