"""Tiles: paths and widths of C2SP tlog-tiles, growing step by step, proofs equal to those of the naive tree."""

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import ProofRefused, TilesBroken
from ledger.evidence import tiles
from ledger.evidence.tree import leaf_hash, verify_consistency, verify_inclusion
from tests.ledger.evidence import naive, vectors

LEAVES = [leaf_hash(b"%d" % leaf) for leaf in range(700)]


class Store:
    """Tiles as a table would hold them: each grows, and nothing else ever happens to it."""

    def __init__(self, leaves=()):
        self.tiles = {}
        self.reads = []
        self.size = 0
        self.grow(leaves)

    def __call__(self, level, tile):
        self.reads.append((level, tile))
        return self.tiles.get((level, tile), b"")

    def grow(self, leaves):
        grown = tiles.grown(self, self.size, b"".join(leaves))
        assert len({(tile.level, tile.tile) for tile in grown}) == len(grown)
        for tile in grown:
            before = self.tiles.get((tile.level, tile.tile), b"")
            assert tile.hashes.startswith(before)
            assert len(tile.hashes) > len(before)
            self.tiles[tile.level, tile.tile] = tile.hashes
        self.size += len(leaves)


@pytest.mark.parametrize(
    ("level", "tile", "width", "path"),
    [
        (0, 1234067, 256, "tile/0/x001/x234/067"),  # C2SP tlog-tiles, "Merkle Tree"
        (0, 0, 256, "tile/0/000"),
        (1, 272, 17, "tile/1/272.p/17"),
        (63, 1000, 1, "tile/63/x001/000.p/1"),
    ],
)
def test_paths(level, tile, width, path):
    assert tiles.path(level, tile, width) == path


def test_widths_of_the_examples_of_tlog_tiles():
    size = 70_000
    assert [tiles.width(0, tile, size) for tile in (0, 272, 273, 274)] == [256, 256, 112, 0]
    assert [tiles.width(1, tile, size) for tile in (0, 1, 2)] == [256, 17, 0]
    assert [tiles.width(2, tile, size) for tile in (0, 1)] == [1, 0]
    assert [tiles.width(0, 0, 256), tiles.width(1, 0, 256), tiles.width(0, 1, 256)] == [256, 1, 0]


def test_70_000_leaves_fill_exactly_the_tiles_of_the_example():
    store = Store()
    for at in range(0, 70_000, 10_000):
        store.grow([LEAVES[(at + leaf) % 700] for leaf in range(10_000)])
    assert len(store.tiles) == 274 + 2 + 1
    for (level, tile), hashes in store.tiles.items():
        assert len(hashes) == 32 * tiles.width(level, tile, store.size)
    store.reads.clear()
    path = tiles.inclusion_path(store, 65_537, 70_000)
    verify_inclusion(store.tiles[0, 256][32:64], 65_537, 70_000, path, tiles.root(store, 70_000))
    assert len(set(store.reads)) <= 8, "a proof reads a few tiles, whatever the size"


@given(st.lists(st.sampled_from([1, 2, 3, 100, 255, 256, 257]), max_size=5), st.data())
@settings(max_examples=40, deadline=None)
def test_proofs_of_any_size_that_was_reached_are_those_of_the_naive_tree(steps, data):
    store = Store()
    for step in steps:
        step = min(step, len(LEAVES) - store.size)
        store.grow(LEAVES[store.size : store.size + step])
    reached = store.size
    assert tiles.root(store, reached) == naive.mth(LEAVES[:reached])
    assert tiles.compact_range(store, reached).root() == naive.mth(LEAVES[:reached])
    if not reached:
        return
    size = data.draw(st.integers(1, reached))
    leaves = LEAVES[:size]
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    path = tiles.inclusion_path(store, index, size)
    assert path == naive.inclusion(index, leaves)
    verify_inclusion(leaves[index], index, size, path, naive.mth(leaves))
    path = tiles.consistency_path(store, old, size)
    assert path == naive.consistency(old, leaves)
    verify_consistency(old, size, naive.mth(leaves[:old]), naive.mth(leaves), path)


def test_growing_reads_the_right_edge_alone():
    store = Store(LEAVES[:600])
    store.reads.clear()
    store.grow(LEAVES[600:601])
    assert store.reads == [(0, 2)]


@pytest.mark.parametrize(("index", "size", "path"), vectors.INCLUSION)
def test_published_inclusion_proofs(index, size, path):
    store = Store([leaf_hash(leaf) for leaf in vectors.LEAVES])
    assert [node.hex() for node in tiles.inclusion_path(store, index, size)] == path


@pytest.mark.parametrize(("old", "new", "path"), vectors.CONSISTENCY)
def test_published_consistency_proofs(old, new, path):
    store = Store([leaf_hash(leaf) for leaf in vectors.LEAVES])
    assert [node.hex() for node in tiles.consistency_path(store, old, new)] == path


def test_accumulated_vectors_of_every_subtree_up_to_130_leaves():
    leaves = [leaf_hash(bytes([leaf])) for leaf in range(vectors.ACCUMULATED_LEAVES)]
    roots, paths = sha256(), sha256()
    for end in range(1, vectors.ACCUMULATED_LEAVES + 1):
        for start in range(end):
            # A subtree begins at a multiple of the power of two that holds it.
            if start % (1 << (end - start - 1).bit_length()):
                continue
            store = Store(leaves[start:end])
            roots.update(f"[{start}, {end}) {tiles.root(store, end - start).hex()}\n".encode())
            for index in range(start, end):
                path = tiles.inclusion_path(store, index - start, end - start)
                nodes = "".join(f" {node.hex()}" for node in path)
                paths.update(f"{index} [{start}, {end}){nodes}\n".encode())
    assert roots.hexdigest() == vectors.ACCUMULATED_SUBTREES
    assert paths.hexdigest() == vectors.ACCUMULATED_INCLUSION


def test_tiles_that_are_too_short_are_named():
    store = Store(LEAVES[:600])
    store.tiles[0, 2] = store.tiles[0, 2][:-32]
    for broken in (
        lambda: tiles.root(store, 600),
        lambda: tiles.inclusion_path(store, 0, 600),
        lambda: tiles.grown(store, 600, LEAVES[600]),
    ):
        with pytest.raises(TilesBroken) as refused:
            broken()
        assert (refused.value.level, refused.value.tile) == (0, 2)
    assert tiles.root(store, 599) == naive.mth(LEAVES[:599])


def test_what_cannot_be_proved_is_refused():
    store = Store(LEAVES[:10])
    for impossible in (
        lambda: tiles.inclusion_path(store, 10, 10),
        lambda: tiles.inclusion_path(store, -1, 10),
        lambda: tiles.consistency_path(store, 8, 7),
        lambda: tiles.consistency_path(store, -1, 7),
    ):
        with pytest.raises(ProofRefused):
            impossible()
    assert tiles.consistency_path(store, 0, 7) == tiles.consistency_path(store, 7, 7) == []
    with pytest.raises(ValueError, match="no whole number"):
        tiles.grown(store, 10, b"x")
