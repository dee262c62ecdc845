"""Models for decoding: targets by folder or name, drafters beside them. torch is imported when one is loaded."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from decoding.errors import DecodingError, ModelRefused

if TYPE_CHECKING:
    from decoding.drafters.base import Drafter
    from decoding.models.causal import CausalModel

NGRAM = "ngram"
"""The drafter that looks up the prompt: no model, always there."""

Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class Models:
    """A target and the drafters that draft for it."""

    target: "CausalModel"
    drafters: "Sequence[Drafter]"


class DecodingNotInstalled(DecodingError):
    """torch, transformers or numpy is missing."""

    code = "decoding_not_installed"


def load_models(target: str | Path, drafters: Sequence[str | Path], device: Device = "auto") -> Models:
    """Load a target and drafters; ``ngram`` names the one without a model. Raises ``DecodingError``.

    Codes: ``decoding_not_installed``, and those of ``decoding.errors.ModelRefused``.
    """
    _be_quiet()
    try:
        from decoding.drafters.ngram import NgramDrafter
        from decoding.models.drafter import ModelDrafter

        loaded = _load(target, device)
        made: list[Drafter] = [
            NgramDrafter() if str(source) == NGRAM else ModelDrafter(_load(source, device))
            for source in drafters
        ]
    except ImportError as error:
        raise DecodingNotInstalled(
            f"decoding needs {error.name or 'torch and transformers'}: pip install 'commitgate[decoding]'"
        ) from error
    return Models(loaded, made)


def _load(source: str | Path, device: Device) -> "CausalModel":
    from decoding.models.causal import load_causal

    if _means_a_folder(source):
        source = Path(source).expanduser()
        if not (source / "config.json").is_file():
            raise ModelRefused(
                f"there is no model in {source}: no config.json there", code="model_not_loadable"
            )
    try:
        return load_causal(source, device=device)
    except ModelRefused as error:
        # transformers explains itself over many lines; the first says what is wrong.
        raise ModelRefused(str(error).splitlines()[0], code=error.code) from error


def _means_a_folder(source: str | Path) -> bool:
    """Whether this is a path rather than the name of a model (``name`` or ``owner/name``)."""
    text = str(source)
    return (
        isinstance(source, Path)
        or Path(text).is_dir()
        or text.startswith((".", "/", "~", os.sep))
        or text.count("/") > 1
    )


def _be_quiet() -> None:
    """Loading says nothing by itself; what is wrong is raised."""
    for name, value in (
        ("TRANSFORMERS_VERBOSITY", "error"),
        ("HF_HUB_DISABLE_PROGRESS_BARS", "1"),
        ("TOKENIZERS_PARALLELISM", "false"),
    ):
        os.environ.setdefault(name, value)
