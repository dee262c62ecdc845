"""The tree: published vectors, a naive tree beside it, and every way of spoiling a proof that the vectors come with."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import ProofRefused
from ledger.evidence.tree import (
    EMPTY_ROOT,
    CompactRange,
    leaf_hash,
    perfect_root,
    verify_consistency,
    verify_inclusion,
)
from tests.ledger.evidence import naive, vectors

OTHER = bytes.fromhex("abacaba000000000000000000000000000000000000000000060061e00123456")
HASHES = [leaf_hash(leaf) for leaf in vectors.LEAVES]
trees = st.integers(1, 200).map(lambda size: [leaf_hash(b"%d" % leaf) for leaf in range(size)])


def unhex(path):
    return [bytes.fromhex(node) for node in path]


def root_of(size):
    return vectors.ROOTS[size - 1] if size else vectors.EMPTY_ROOT


def test_published_roots():
    tree = CompactRange()
    assert tree.root() == vectors.EMPTY_ROOT == EMPTY_ROOT
    for leaf, root in zip(HASHES, vectors.ROOTS, strict=True):
        tree.append(leaf)
        assert tree.root() == root


@pytest.mark.parametrize(("index", "size", "path"), vectors.INCLUSION)
def test_published_inclusion_proofs(index, size, path):
    verify_inclusion(HASHES[index], index, size, unhex(path), root_of(size))


@pytest.mark.parametrize(("old", "new", "path"), vectors.CONSISTENCY)
def test_published_consistency_proofs(old, new, path):
    verify_consistency(old, new, root_of(old), root_of(new), unhex(path))


def spoiled_paths(path, *roots):
    yield [*path, b""]
    yield [b"", *path]
    for root in roots:
        yield [*path, root]
        yield [root, *path]
    for place in range(len(path)):
        yield [bytes([node[0] ^ 8]) + node[1:] if at == place else node for at, node in enumerate(path)]
        yield path[:place] + path[place + 1 :]
    if len(path) > 1:
        yield [path[0], OTHER, *path[1:]]


@pytest.mark.parametrize(("index", "size", "path"), vectors.INCLUSION)
def test_spoiled_inclusion_proofs_are_refused(index, size, path):
    path, leaf, root = unhex(path), HASHES[index], root_of(size)
    wrong = [
        (leaf, index - 1, size, path, root),
        (leaf, index + 1, size, path, root),
        (leaf, index ^ 2, size, path, root),
        (leaf, index, size * 2, path, root),
        (leaf, index, size // 2, path, root),
        (b"WrongLeaf", index, size, path, root),
        (leaf, index, size, path, EMPTY_ROOT),
        (leaf, index, size, path, OTHER),
        *((leaf, index, size, spoiled, root) for spoiled in spoiled_paths(path, root)),
    ]
    for arguments in wrong:
        with pytest.raises(ProofRefused):
            verify_inclusion(*arguments)


@pytest.mark.parametrize(("old", "new", "path"), [vector for vector in vectors.CONSISTENCY if vector[2]])
def test_spoiled_consistency_proofs_are_refused(old, new, path):
    path, old_root, new_root = unhex(path), root_of(old), root_of(new)
    wrong = [
        (old - 1, new, old_root, new_root, path),
        (old + 1, new, old_root, new_root, path),
        (old ^ 2, new, old_root, new_root, path),
        (old, new * 2, old_root, new_root, path),
        (old, new // 2, old_root, new_root, path),
        (old, new, b"WrongRoot", new_root, path),
        (old, new, old_root, b"WrongRoot", path),
        (old, new, new_root, old_root, path),
        (old, new, old_root, new_root, []),
        *((old, new, old_root, new_root, spoiled) for spoiled in spoiled_paths(path, old_root, new_root)),
    ]
    for arguments in wrong:
        with pytest.raises(ProofRefused):
            verify_consistency(*arguments)


@pytest.mark.parametrize(
    ("old", "new", "old_root", "new_root", "path", "good"),
    [
        (0, 0, EMPTY_ROOT, EMPTY_ROOT, [], True),
        (0, 1, EMPTY_ROOT, OTHER, [], True),
        (1, 1, OTHER, OTHER, [], True),
        (0, 0, EMPTY_ROOT, OTHER, [], False),
        (0, 1, OTHER, OTHER, [], False),
        (1, 1, EMPTY_ROOT, OTHER, [], False),
        (1, 0, OTHER, OTHER, [], False),
        (2, 1, OTHER, OTHER, [], False),
        (1, 2, OTHER, OTHER, [], False),
        (0, 1, EMPTY_ROOT, OTHER, [EMPTY_ROOT], False),
        (1, 1, OTHER, OTHER, [EMPTY_ROOT], False),
        (-1, 1, OTHER, OTHER, [], False),
    ],
)
def test_consistency_where_there_is_nothing_to_prove(old, new, old_root, new_root, path, good):
    if good:
        verify_consistency(old, new, old_root, new_root, path)
    else:
        with pytest.raises(ProofRefused):
            verify_consistency(old, new, old_root, new_root, path)


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 0), (1, 1), (-1, 1)])
def test_a_leaf_outside_of_the_tree_has_no_proof(index, size):
    with pytest.raises(ProofRefused):
        verify_inclusion(OTHER, index, size, [], OTHER)


@given(trees, st.data())
@settings(max_examples=60, deadline=None)
def test_a_range_is_the_naive_tree_and_goes_on_from_its_nodes(leaves, data):
    cut = data.draw(st.integers(0, len(leaves)))
    one = CompactRange()
    one.extend(b"".join(leaves[:cut]))
    two = CompactRange(one.size, one.nodes)
    for leaf in leaves[cut:]:
        two.append(leaf)
    assert one.root() == naive.mth(leaves[:cut])
    assert two.root() == naive.mth(leaves)
    assert (two.size, len(two.nodes)) == (len(leaves), len(leaves).bit_count())


@given(trees, st.data())
@settings(max_examples=60, deadline=None)
def test_naive_proofs_verify_and_prove_nothing_else(leaves, data):
    size = len(leaves)
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    path, root = naive.inclusion(index, leaves), naive.mth(leaves)
    verify_inclusion(leaves[index], index, size, path, root)
    other = (
        data.draw(st.integers(0, size - 1).filter(lambda place: place != index)) if size > 1 else index + 1
    )
    with pytest.raises(ProofRefused):
        verify_inclusion(leaves[index], other, size, path, root)
    path = naive.consistency(old, leaves)
    verify_consistency(old, size, naive.mth(leaves[:old]), root, path)
    with pytest.raises(ProofRefused):
        verify_consistency(old, size, leaf_hash(b"another history"), root, path)


@pytest.mark.parametrize(("size", "nodes"), [(-1, []), (1, []), (2, [OTHER, OTHER]), (1, [b"short"])])
def test_nodes_that_do_not_fit_the_size_are_refused(size, nodes):
    with pytest.raises(ValueError, match="do not make a tree"):
        CompactRange(size, nodes)


def test_half_a_hash_is_refused():
    with pytest.raises(ValueError, match="no whole number"):
        CompactRange().extend(OTHER + b"x")


def test_perfect_root_is_that_of_the_naive_tree():
    for size in (1, 2, 4, 8):
        assert perfect_root(b"".join(HASHES[:size])) == vectors.ROOTS[size - 1]


def test_a_node_cannot_be_passed_off_as_a_leaf():
    with pytest.raises(ProofRefused):
        verify_inclusion(leaf_hash(HASHES[0] + HASHES[1]), 0, 1, [], vectors.ROOTS[1])
