"""The Merkle tree of RFC 9162, section 2.1: hashes, roots that grow leaf by leaf, and proofs that are checked.

SHA-256 throughout; a hash is 32 bytes. Leaves are hashed behind a 0x00 byte and nodes behind 0x01, so that no
node can be passed off as a leaf. Proofs are made in ``ledger.evidence.tiles``.
"""

from collections.abc import Sequence
from hashlib import sha256

from ledger.errors import ProofRefused

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()
"""Root of the tree without leaves."""


def leaf_hash(envelope: bytes) -> bytes:
    """SHA-256(0x00 || envelope)."""
    return sha256(b"\0" + envelope).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right)."""
    return sha256(b"\1" + left + right).digest()


def perfect_root(hashes: bytes) -> bytes:
    """Root of the subtree over a power of two (at least one) of concatenated hashes."""
    while len(hashes) > HASH_BYTES:
        pairs = range(0, len(hashes), 2 * HASH_BYTES)
        hashes = b"".join([sha256(b"\1" + hashes[at : at + 2 * HASH_BYTES]).digest() for at in pairs])
    return hashes


class CompactRange:
    """The least that is needed to append to a tree and know its root: one hash per set bit of its size.

    ``nodes``: roots of the perfect subtrees that the leaves fall into, the largest (leftmost) first; an append costs
    O(log size) hashes at most and one on average. Raises ValueError where the number of nodes does not fit the size.
    """

    __slots__ = ("_nodes", "_size")

    def __init__(self, size: int = 0, nodes: Sequence[bytes] = ()) -> None:
        if size < 0 or size.bit_count() != len(nodes) or any(len(node) != HASH_BYTES for node in nodes):
            raise ValueError(f"{len(nodes)} nodes do not make a tree of {size} leaves")
        self._size = size
        self._nodes = list(nodes)

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self._size

    @property
    def nodes(self) -> tuple[bytes, ...]:
        """Roots of the perfect subtrees, the largest first."""
        return tuple(self._nodes)

    def append(self, leaf_hash: bytes) -> None:
        """Add one leaf, given as its hash."""
        nodes, above, node = self._nodes, self._size, leaf_hash
        while above & 1:
            node = sha256(b"\1" + nodes.pop() + node).digest()
            above >>= 1
        nodes.append(node)
        self._size += 1

    def extend(self, hashes: bytes) -> None:
        """Add leaves, given as their concatenated hashes. Raises ValueError where these are not whole hashes."""
        if len(hashes) % HASH_BYTES:
            raise ValueError(f"{len(hashes)} bytes are no whole number of hashes")
        for at in range(0, len(hashes), HASH_BYTES):
            self.append(hashes[at : at + HASH_BYTES])

    def root(self) -> bytes:
        """Root of the tree as it stands; ``EMPTY_ROOT`` without leaves."""
        return joined(self._nodes) if self._nodes else EMPTY_ROOT


def joined(nodes: Sequence[bytes]) -> bytes:
    """The hash over neighbouring subtrees that get smaller from left to right; at least one."""
    hash_ = nodes[-1]
    for node in reversed(nodes[:-1]):
        hash_ = node_hash(node, hash_)
    return hash_


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Check that ``leaf`` (a leaf hash) stands at ``index`` in the tree of ``size`` leaves with that root.

    ``path``: sibling hashes from the leaf upwards (RFC 9162, 2.1.3.2). Raises ProofRefused.
    """
    if not 0 <= index < size:
        raise ProofRefused(f"a tree of {size} leaves has no leaf {index}")
    here, last, hash_ = index, size - 1, leaf
    for sibling in path:
        if not last:
            raise ProofRefused("the inclusion path is longer than the tree is high")
        if here & 1 or here == last:
            hash_ = node_hash(sibling, hash_)
            while not here & 1 and here:
                here >>= 1
                last >>= 1
        else:
            hash_ = node_hash(hash_, sibling)
        here >>= 1
        last >>= 1
    if last:
        raise ProofRefused("the inclusion path is shorter than the tree is high")
    if hash_ != root:
        raise ProofRefused(f"leaf {index} is not in the tree of {size} leaves with this root")


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]) -> None:
    """Check that the tree of ``new`` leaves begins with the tree of ``old`` leaves (RFC 9162, 2.1.4.2).

    Of nothing and of itself a tree is an extension without proof: there ``path`` must be empty. Raises ProofRefused.
    """
    if not 0 <= old <= new:
        raise ProofRefused(f"a tree of {new} leaves does not extend one of {old}")
    if old in (0, new):
        if path or (old_root != new_root if old == new else old_root != EMPTY_ROOT):
            raise ProofRefused(f"no proof leads from {old} leaves with this root to {new} leaves")
        return
    # A perfect tree of `old` leaves is a node of the larger tree: its hash is left out of the path.
    nodes = [old_root, *path] if not old & (old - 1) else list(path)
    if not nodes:
        raise ProofRefused("the consistency path is empty")
    if _roots(old, new, nodes) != (old_root, new_root):
        raise ProofRefused(f"the tree of {new} leaves does not extend that of {old} leaves")


def _roots(old: int, new: int, nodes: Sequence[bytes]) -> tuple[bytes, bytes]:
    here, last = old - 1, new - 1
    while here & 1:
        here >>= 1
        last >>= 1
    old_hash = new_hash = nodes[0]
    for node in nodes[1:]:
        if not last:
            raise ProofRefused("the consistency path is longer than the tree is high")
        if here & 1 or here == last:
            old_hash, new_hash = node_hash(node, old_hash), node_hash(node, new_hash)
            while not here & 1 and here:
                here >>= 1
                last >>= 1
        else:
            new_hash = node_hash(new_hash, node)
        here >>= 1
        last >>= 1
    if last:
        raise ProofRefused("the consistency path is shorter than the tree is high")
    return old_hash, new_hash
