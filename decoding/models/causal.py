"""A causal language model of transformers as target or drafter."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from decoding.errors import ModelRefused
from decoding.models.kv import KeyValues
from decoding.models.tokenizer import ChatTokenizer, load_tokenizer
from decoding.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

Device = Literal["auto", "cpu", "cuda"]
Dtype = Literal["auto", "float64", "float32", "bfloat16"]


class CausalModel:
    """A ``TargetModel``: one sequence at a time, with a cache that follows whatever context it is asked
    about.

    ``tokenizer``: the model's own. Raises ``ModelRefused`` (``vocabulary_mismatch``) where the model scores
    fewer ids than the tokenizer has; more are padding.
    """

    def __init__(self, model: "PreTrainedModel", tokenizer: ChatTokenizer, name: str) -> None:
        """See the class."""
        self.name = name
        self.tokenizer = tokenizer
        self._model = model.train(False)
        self._kept = KeyValues(model.config)
        self._takes_logits_to_keep = "logits_to_keep" in inspect.signature(model.forward).parameters
        width = model.config.get_text_config().vocab_size
        if width < self.vocabulary.size:
            raise ModelRefused(
                f"{name} scores {width} ids, its tokenizer has {self.vocabulary.size}",
                code="vocabulary_mismatch",
            )

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of its tokenizer."""
        return self.tokenizer.vocabulary

    @property
    def context_limit(self) -> int | None:
        """The number of positions that the model was made for, where its config says it."""
        limit = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        return limit if isinstance(limit, int) else None

    @property
    def cached_ids(self) -> tuple[int, ...]:
        """The ids whose keys and values are kept."""
        return tuple(self._kept.ids)

    def scores(self, ids: Sequence[int], last: int) -> NDArray[np.float64]:
        """See ``TargetModel.scores``. Only what the cache does not hold is run through the model."""
        if not 1 <= last <= len(ids):
            raise ValueError(f"{last} rows of {len(ids)} ids")
        held = self._kept.align(list(ids), len(ids) - last)
        return self._forward(self._kept, ids[held:], last)

    def fresh_scores(self, ids: Sequence[int], last: int) -> NDArray[np.float64]:
        """``scores`` computed without anything kept: what a check compares with."""
        return self._forward(KeyValues(self._model.config), ids, last)

    def cache_error(self) -> float:
        """The largest difference between what is kept and a fresh prefill of the same ids; 0 where nothing is
        kept."""
        if not self._kept.ids:
            return 0.0
        fresh = KeyValues(self._model.config)
        self._forward(fresh, self._kept.ids, 1)
        pairs = zip(self._kept.tensors(), fresh.tensors(), strict=True)
        return max(float((ours - theirs).abs().max()) for ours, theirs in pairs)

    def _forward(self, kept: KeyValues, ids: Sequence[int], last: int) -> NDArray[np.float64]:
        import torch

        inputs = torch.tensor([list(ids)], device=self._model.device)
        keep = {"logits_to_keep": last} if self._takes_logits_to_keep else {}
        try:
            with torch.inference_mode():
                output = self._model(input_ids=inputs, **kept.arguments(), **keep)
        except BaseException:
            # Interrupted between two layers, the cache holds what nobody can name.
            kept.reset()
            raise
        kept.grown(ids)
        rows: NDArray[np.float64] = output.logits[0, -last:].to("cpu", torch.float64).numpy()
        return rows


def load_causal(
    source: str | Path, *, name: str | None = None, dtype: Dtype = "float32", device: Device = "auto"
) -> CausalModel:
    """A model with its tokenizer: from a folder, read without network, or by the name that transformers
    knows.

    ``name``: how it is called in events; the folder's name if not given. ``dtype`` ``auto`` keeps that of the
    file. ``device`` ``auto`` takes a GPU if there is one. Ids that end a message are those of the generation
    config and the tokenizer. Raises ``ModelRefused`` (``model_not_loadable``, ``device_not_available``, ...).
    """
    place = _device(device)
    model = _pretrained(source, dtype)
    # The wrapper that transformers puts around ``to`` loses its signature.
    model.to(place)  # type: ignore[arg-type]
    ends = model.generation_config.eos_token_id if model.generation_config is not None else None
    tokenizer = load_tokenizer(source, ends=[ends] if isinstance(ends, int) else ends or ())
    return CausalModel(model, tokenizer, name or Path(source).name)


def _pretrained(source: str | Path, dtype: Dtype) -> "PreTrainedModel":
    """The weights; without a progress bar where nothing is downloaded, since the terminal shows turns."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    local, showed = Path(source).is_dir(), logging.is_progress_bar_enabled()
    if local:
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return AutoModelForCausalLM.from_pretrained(str(source), dtype=_dtype(dtype), local_files_only=local)
    except (OSError, ValueError) as error:
        raise ModelRefused(f"no model at {source}: {error}", code="model_not_loadable") from error
    finally:
        if showed:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _device(device: Device) -> str:
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise ModelRefused("there is no CUDA device here", code="device_not_available")
    return device


def _dtype(dtype: Dtype) -> "torch.dtype | Literal['auto']":
    import torch

    return (
        "auto"
        if dtype == "auto"
        else {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}[dtype]
    )
