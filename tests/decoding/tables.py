"""Models given by a table: their laws are known exactly, and they cost nothing."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from decoding.vocabulary import Vocabulary

END = 0
"""The id that ends a message in ``letters``."""


def letters(pieces: Sequence[bytes] = tuple(b"abcdefghijklmno"[i : i + 1] for i in range(15))) -> Vocabulary:
    """Id 0 ends; the others spell ``pieces``."""
    return Vocabulary((b"<end>", *pieces), frozenset({END}), "sha256:letters")


class TableModel:
    """Scores are a function of the ids alone; ``rows_run`` counts the rows it was asked for."""

    def __init__(
        self,
        law: Callable[[tuple[int, ...]], NDArray[np.float64]],
        vocabulary: Vocabulary | None = None,
        name: str = "table",
        context_limit: int | None = None,
    ) -> None:
        self.name = name
        self.vocabulary = vocabulary or letters()
        self.context_limit = context_limit
        self.rows_run = 0
        self._law = law

    def scores(self, ids: Sequence[int], last: int) -> NDArray[np.float64]:
        ids = tuple(ids)
        assert 1 <= last <= len(ids)
        self.rows_run += last
        return np.stack([self._law(ids[: len(ids) - last + 1 + i]) for i in range(last)])


def hashed(
    salt: str, width: int = 16, never: Sequence[int] = (END,), reach: int = 3
) -> Callable[..., NDArray]:
    """A law without structure: log scores from a hash of the last ``reach`` ids; ``never``: ids it never says."""

    def law(ids: tuple[int, ...]) -> NDArray[np.float64]:
        digest = hashlib.shake_128(repr((salt, ids[-reach:])).encode()).digest(4 * width)
        scores = np.frombuffer(digest, dtype=">u4").astype(np.float64) / 2**32 * 4
        scores[list(never)] = -np.inf
        return scores

    return law


def scripted(script: Sequence[int], prompt: int, width: int = 16) -> Callable[..., NDArray]:
    """A law that says ``script`` behind a prompt of ``prompt`` ids, and then ends."""

    def law(ids: tuple[int, ...]) -> NDArray[np.float64]:
        scores = np.zeros(width)
        at = len(ids) - prompt
        scores[script[at] if at < len(script) else END] = 9.0
        return scores

    return law
