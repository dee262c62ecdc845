"""Sampling parameters of one turn, and the digest that names them exactly (design.md, Decoding)."""

import hashlib
import math
from dataclasses import dataclass

import rfc8785

from decoding.errors import OptionsError

MAX_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the target draws.

    ``temperature``: 0 means the most probable id, the lowest one of equals. ``top_k``: 0 means no limit.
    ``top_p``: 1 means no limit. ``min_p``: 0 means no limit. ``seed``: 0 to 2^64 - 1; it has no effect at
    temperature 0. Raises ``OptionsError`` where a value is out of range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what has no meaning, before any token is drawn with it."""
        _check(
            math.isfinite(self.temperature) and self.temperature >= 0, "temperature", self.temperature, ">= 0"
        )
        _check(self.top_k >= 0, "top_k", self.top_k, ">= 0")
        _check(0 < self.top_p <= 1, "top_p", self.top_p, "in (0, 1]")
        _check(0 <= self.min_p <= 1, "min_p", self.min_p, "in [0, 1]")
        _check(0 <= self.seed <= MAX_SEED, "seed", self.seed, f"in [0, {MAX_SEED}]")

    def digest(self, rule: str = "match", *, with_seed: bool = True) -> str:
        """``sha256:`` of the canonical JSON (RFC 8785) of all parameters: 0.70001 and 0.70002 differ.

        ``with_seed=False`` names the parameters of a baseline that many seeds share.
        """
        values: dict[str, float | int | str] = {
            "rule": rule,
            "temperature": float(self.temperature),
            "top_k": self.top_k,
            "top_p": float(self.top_p),
            "min_p": float(self.min_p),
        }
        if with_seed:
            # A string, because JSON numbers are exact only up to 2^53.
            values["seed"] = str(self.seed)
        return "sha256:" + hashlib.sha256(rfc8785.dumps(values)).hexdigest()


def _check(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds:
        raise OptionsError(f"{name} must be {wanted}, not {value}")
