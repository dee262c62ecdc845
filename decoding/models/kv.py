"""The key/value cache of a model, behind one adapter: which ids it holds, and how it goes back to fewer.

transformers changes this interface between minor versions (5.24: keyword ``cache``, ``crop`` takes a negative
count); nothing outside this module knows.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig


class KeyValues:
    """Keys and values of a prefix of some context.

    There is no way to tell it what was accepted: it is aligned with each new context by comparing ids. So no
    rejected draft can stay in it and no accepted one can be missing, whoever drafted and wherever the cut
    was.
    """

    def __init__(self, config: "PreTrainedConfig") -> None:
        """An empty cache for a model of this ``config``."""
        self._config = config
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        from transformers import DynamicCache

        self.ids: list[int] = []
        self.cache = DynamicCache(config=self._config)

    def align(self, ids: Sequence[int], keep_at_most: int) -> int:
        """Go back to the longest common prefix with ``ids``, at most ``keep_at_most`` long; return its
        length.

        A cache that cannot go back exactly (sliding windows, recurrent states) is emptied instead.
        """
        kept = min(_common_prefix(self.ids, ids), keep_at_most)
        surplus = len(self.ids) - kept
        if surplus == 0:
            return kept
        if kept == 0 or any(self.cache.is_sliding) or not self.cache.is_croppable:
            self.reset()
            return 0
        self.cache.crop(-surplus)
        del self.ids[kept:]
        return kept

    def arguments(self) -> dict[str, object]:
        """The keyword arguments by which a model's forward pass reads and extends the cache."""
        return {"cache": self.cache, "use_cache": True}

    def grown(self, ids: Sequence[int]) -> None:
        """Note that a forward pass has added ``ids``."""
        self.ids.extend(ids)

    def tensors(self) -> "list[torch.Tensor]":
        """Keys and values of every layer that has them, each [batch, heads, ids, width]: for comparing two
        caches."""
        return [
            tensor
            for layer in self.cache.layers
            for tensor in (getattr(layer, "keys", None), getattr(layer, "values", None))
            if tensor is not None
        ]


def _common_prefix(ours: Sequence[int], theirs: Sequence[int]) -> int:
    length = min(len(ours), len(theirs))
    if ours[:length] == theirs[:length]:
        return length
    return next(i for i in range(length) if ours[i] != theirs[i])
