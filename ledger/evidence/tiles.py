"""The tree as tiles (C2SP tlog-tiles, height 8): which tile holds what, how tiles grow, proofs read from them.

Tile ``tile`` of level ``level`` holds the roots of up to 256 neighbouring perfect subtrees of 256^level leaves,
concatenated. A log of any size that the tiles have reached can be proved: wider tiles than it needs do no harm.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ledger.errors import ProofRefused, TilesBroken
from ledger.evidence.tree import EMPTY_ROOT, HASH_BYTES, CompactRange, joined, perfect_root

HEIGHT = 8
WIDTH = 1 << HEIGHT
TILE_BYTES = WIDTH * HASH_BYTES


class TileReader(Protocol):
    """Gives the concatenated hashes of a tile as far as it has grown; empty where there is no such tile."""

    def __call__(self, level: int, tile: int, /) -> bytes: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile as it stands after growing; ``hashes`` begin with those that it held before."""

    level: int
    tile: int
    hashes: bytes


def path(level: int, tile: int, width: int = WIDTH) -> str:
    """Where the tile is served, e.g. ``tile/0/x001/x234/067`` or, where ``width`` is below 256, ``….p/12``."""
    groups = [f"{tile % 1000:03}"]
    while tile >= 1000:
        tile //= 1000
        groups.append(f"x{tile % 1000:03}")
    whole = f"tile/{level}/{'/'.join(reversed(groups))}"
    return whole if width == WIDTH else f"{whole}.p/{width}"


def width(level: int, tile: int, size: int) -> int:
    """Number of hashes that the tile holds in a log of ``size`` leaves, 0 to 256."""
    return min(max((size >> HEIGHT * level) - tile * WIDTH, 0), WIDTH)


def grown(read: TileReader, size: int, hashes: bytes) -> list[Tile]:
    """The tiles that change when leaves (their concatenated hashes) are appended to a log of ``size`` leaves.

    ``read`` is asked for the partial tiles at the right edge alone. Each tile comes once, whole, lower levels first.
    Raises TilesBroken where the edge is too short, ValueError where these are not whole hashes.
    """
    if len(hashes) % HASH_BYTES:
        raise ValueError(f"{len(hashes)} bytes are no whole number of hashes")
    tiles: list[Tile] = []
    level = 0
    while hashes:
        full: list[bytes] = []
        for tile in _row(read, level, size >> HEIGHT * level, hashes):
            tiles.append(tile)
            if len(tile.hashes) == TILE_BYTES:
                full.append(perfect_root(tile.hashes))
        hashes = b"".join(full)
        level += 1
    return tiles


def _row(read: TileReader, level: int, held: int, hashes: bytes) -> Iterator[Tile]:
    tile, inside = divmod(held, WIDTH)
    if inside:
        hashes = _prefix(read(level, tile), level, tile, inside) + hashes
    for at in range(0, len(hashes), TILE_BYTES):
        yield Tile(level, tile + at // TILE_BYTES, hashes[at : at + TILE_BYTES])


def compact_range(read: TileReader, size: int) -> CompactRange:
    """What a log of ``size`` leaves needs to go on growing. Raises TilesBroken."""
    return CompactRange(size, _Nodes(read).cover(0, size))


def root(read: TileReader, size: int) -> bytes:
    """Root of the tree over the first ``size`` leaves. Raises TilesBroken."""
    return _Nodes(read).subtree(0, size) if size else EMPTY_ROOT


def inclusion_path(read: TileReader, index: int, size: int) -> list[bytes]:
    """The proof that the leaf at ``index`` is in the tree over the first ``size`` leaves (RFC 9162, 2.1.3.1).

    Raises ProofRefused where that tree has no such leaf, TilesBroken where the tiles do not reach ``size``.
    """
    if not 0 <= index < size:
        raise ProofRefused(f"a tree of {size} leaves has no leaf {index}")
    nodes, first, end = _Nodes(read), 0, size
    upwards: list[bytes] = []
    while end - first > 1:
        middle = first + _left(end - first)
        if index < middle:
            upwards.append(nodes.subtree(middle, end))
            end = middle
        else:
            upwards.append(nodes.subtree(first, middle))
            first = middle
    return upwards[::-1]


def consistency_path(read: TileReader, old: int, new: int) -> list[bytes]:
    """The proof that the tree over ``new`` leaves begins with that over ``old`` leaves (RFC 9162, 2.1.4.1).

    Empty where ``old`` is 0 or ``new``: there is nothing to prove. Raises ProofRefused where ``old`` is larger than
    ``new``, TilesBroken where the tiles do not reach ``new``.
    """
    if not 0 <= old <= new:
        raise ProofRefused(f"a tree of {new} leaves does not extend one of {old}")
    if old in (0, new):
        return []
    nodes, first, end = _Nodes(read), 0, new
    upwards: list[bytes] = []
    while old != end:
        middle = first + _left(end - first)
        if old <= middle:
            upwards.append(nodes.subtree(middle, end))
            end = middle
        else:
            upwards.append(nodes.subtree(first, middle))
            first = middle
    # The whole old tree is known to the verifier; what is left of it further right is not.
    return ([nodes.subtree(first, end)] if first else []) + upwards[::-1]


def _left(count: int) -> int:
    """The largest power of two below ``count`` (at least 2): where RFC 9162 splits a tree."""
    return 1 << (count - 1).bit_length() - 1


class _Nodes:
    """Hashes of subtrees, read from tiles; each tile is read once."""

    def __init__(self, read: TileReader) -> None:
        self._read = read
        self._tiles: dict[tuple[int, int], bytes] = {}

    def subtree(self, first: int, end: int) -> bytes:
        """Root over the leaves [first, end), at least one; ``first`` is aligned as in the tree."""
        return joined(self.cover(first, end))

    def cover(self, first: int, end: int) -> list[bytes]:
        """The perfect subtrees that make up [first, end), the largest first."""
        nodes = []
        while first < end:
            level = (end - first).bit_length() - 1
            nodes.append(self._node(level, first >> level))
            first += 1 << level
        return nodes

    def _node(self, level: int, index: int) -> bytes:
        row, inside = divmod(level, HEIGHT)
        tile, at = divmod(index << inside, WIDTH)
        needed = at + (1 << inside)
        if (row, tile) not in self._tiles:
            self._tiles[row, tile] = self._read(row, tile)
        hashes = _prefix(self._tiles[row, tile], row, tile, needed)
        return perfect_root(hashes[at * HASH_BYTES :])


def _prefix(hashes: bytes, level: int, tile: int, needed: int) -> bytes:
    if len(hashes) < needed * HASH_BYTES:
        raise TilesBroken(level, tile, needed=needed, found=len(hashes) // HASH_BYTES)
    return hashes[: needed * HASH_BYTES]
