"""The tree as RFC 9162 writes it down, section 2.1: recursive, over all leaves, nothing remembered."""

from hashlib import sha256


def mth(leaves):
    """Merkle Tree Hash over leaf hashes (2.1.1)."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def inclusion(m, leaves):
    """PATH(m, D[n]) (2.1.3.1)."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*inclusion(m, leaves[:k]), mth(leaves[k:])]
    return [*inclusion(m - k, leaves[k:]), mth(leaves[:k])]


def consistency(m, leaves, known=True):
    """SUBPROOF(m, D[n], b) (2.1.4.1)."""
    n = len(leaves)
    if m == n:
        return [] if known else [mth(leaves)]
    k = split(n)
    if m <= k:
        return [*consistency(m, leaves[:k], known), mth(leaves[k:])]
    return [*consistency(m - k, leaves[k:], False), mth(leaves[:k])]


def split(n):
    """The largest power of two smaller than n."""
    k = 1
    while k * 2 < n:
        k *= 2
    return k
