"""The port to the model that rules."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from decoding.vocabulary import Vocabulary


class TargetModel(Protocol):
    """A causal model as the loop sees it. What it remembers between calls is its own affair and changes no
    score."""

    @property
    def name(self) -> str:
        """Names the model in events and reports."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of its tokenizer."""

    @property
    def context_limit(self) -> int | None:
        """The most ids a context may have; None where there is no limit."""

    def scores(self, ids: Sequence[int], last: int) -> NDArray[np.float64]:
        """Raw next-token scores behind each of the last ``last`` prefixes of ``ids``, shape [last, width],
        float64.

        Row ``i`` scores what follows ``ids[:len(ids) - last + 1 + i]``. ``1 <= last <= len(ids)``.
        """
