"""The tree's tiles in the database. A tile is written with what it held before in front: the database checks it."""

from collections.abc import Callable, Iterable, Mapping

from sqlalchemy import Connection, select, tuple_

from ledger.evidence.tiles import HEIGHT, TILE_BYTES, WIDTH, Tile
from ledger.log.schema import tiles
from ledger.session import driver_connection

Edge = Mapping[tuple[int, int], bytes]
"""The last tile of each level where it is not full, by (level, tile): all that is needed to append."""

_WRITE = """
insert into ledger.tiles (level, tile, hashes)
select level, tile, hashes from unnest(%s::smallint[], %s::bigint[], %b::bytea[]) as grown (level, tile, hashes)
on conflict (level, tile) do update set hashes = excluded.hashes
"""


def tile_reader(connection: Connection) -> Callable[[int, int], bytes]:
    """Reads tiles for proofs and roots; empty bytes where there is none."""

    def read(level: int, tile: int) -> bytes:
        query = select(tiles.c.hashes).where(tiles.c.level == level, tiles.c.tile == tile)
        return bytes(connection.execute(query).scalar_one_or_none() or b"")

    return read


def read_edge(connection: Connection, size: int) -> Edge:
    """The right edge of the tree over the first ``size`` leaves; ``size`` is that of the log as it stands."""
    level, places = 0, []
    while size >> HEIGHT * level:
        tile, inside = divmod(size >> HEIGHT * level, WIDTH)
        if inside:
            places.append((level, tile))
        level += 1
    if not places:
        return {}
    query = select(tiles.c.level, tiles.c.tile, tiles.c.hashes)
    found = connection.execute(query.where(tuple_(tiles.c.level, tiles.c.tile).in_(places)))
    return {(row.level, row.tile): bytes(row.hashes) for row in found}


def moved_edge(edge: Edge, grown: Iterable[Tile]) -> Edge:
    """The edge after ``grown`` is written."""
    moved = {**edge, **{(tile.level, tile.tile): tile.hashes for tile in grown}}
    return {place: hashes for place, hashes in moved.items() if len(hashes) < TILE_BYTES}


def write_tiles(connection: Connection, grown: list[Tile]) -> None:
    """Write tiles that are new or have grown, in the transaction of ``connection``."""
    columns = ([tile.level for tile in grown], [tile.tile for tile in grown], [tile.hashes for tile in grown])
    driver_connection(connection).execute(_WRITE, columns, prepare=False)
