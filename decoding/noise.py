"""The counter noise of rule ``match``: Gumbel noise that depends on (seed, branch, position, token id) alone.

Frozen: a change here changes every text that was ever drawn. ``tests/decoding/vectors/noise.json`` holds
vectors.

All arithmetic is on unsigned 64-bit integers, modulo 2^64, up to step 3; step 4 is exact in float64.

1. ``row``: the first 8 bytes, big-endian, of
   SHA-256( ``b"commitgate/noise/1"`` ‖ ``0x00`` ‖ seed (8 bytes, big-endian) ‖ position (8 bytes, big-endian)
   ‖ branch (UTF-8) ).
2. SplitMix64, jumped to its element ``token``::

       z = row + (token + 1) * 0x9E3779B97F4A7C15
       z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
       z = (z ^ (z >> 27)) * 0x94D049BB133111EB
       z =  z ^ (z >> 31)

3. ``k = ((z >> 12) << 1) | 1``: an odd integer of 53 bits, so 0 < k < 2^53.
4. ``u = k * 2**-53``: strictly inside (0, 1). (The usual ``(z >> 11) + 0.5`` would round up to 1.)
5. ``gumbel = -log(-log(u))`` in float64, natural logarithms. It lies in [-3.61, 36.74].

The logarithms are the platform's: the last bit may differ between machines, the integers never do.
"""

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

DOMAIN = b"commitgate/noise/1\x00"

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_UNIT = 2.0**-53


def row_key(seed: int, branch: str, position: int) -> int:
    """Step 1: the 64-bit key of one position. ``seed`` and ``position`` must be in [0, 2^64); else
    OverflowError."""
    counters = seed.to_bytes(8, "big") + position.to_bytes(8, "big")
    return int.from_bytes(hashlib.sha256(DOMAIN + counters + branch.encode()).digest()[:8], "big")


def odd53(row: int, token: int) -> int:
    """Steps 2 and 3 in plain Python integers: the reference that the vectors are made with."""
    z = (row + (token + 1) * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
    z ^= z >> 31
    return ((z >> 12) << 1) | 1


def gumbel(row: int, token: int) -> float:
    """Steps 2 to 5 for one token id, in plain Python."""
    return -math.log(-math.log(odd53(row, token) * _UNIT))


def odd53s(row: int, tokens: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Steps 2 and 3 for many token ids (int64, none negative), shape kept; equal to ``odd53`` for each."""
    z = tokens.astype(np.uint64)
    z += np.uint64(1)
    z *= np.uint64(_GAMMA)
    z += np.uint64(row)
    z ^= z >> np.uint64(30)
    z *= np.uint64(_MIX_1)
    z ^= z >> np.uint64(27)
    z *= np.uint64(_MIX_2)
    z ^= z >> np.uint64(31)
    return ((z >> np.uint64(12)) << np.uint64(1)) | np.uint64(1)


def gumbels(row: int, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """Steps 2 to 5 for many token ids; each value depends on its own id alone, not on which others are asked
    for."""
    uniforms = odd53s(row, tokens).astype(np.float64) * _UNIT
    noise: NDArray[np.float64] = -np.log(-np.log(uniforms))
    return noise
