"""The port to what proposes tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from decoding.rules.match import MatchRule

Kind = Literal["soft", "coupled", "point"]
"""How ids were chosen: drawn from a law of the drafter's own; drawn from it with the target's noise; not
drawn."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Token ids proposed for consecutive positions; may be shorter than asked for, or empty."""

    ids: tuple[int, ...]
    kind: Kind


class Drafter(Protocol):
    """Proposes what the target may say next.

    A drafter is told the whole context each time, so there is nothing to roll back and no rejected token can
    linger: what it remembers between calls (a KV cache) must not show in what it proposes.
    """

    @property
    def name(self) -> str:
        """Names the drafter in events and counts."""

    @property
    def tokenizer_digest(self) -> str | None:
        """Digest of the tokenizer whose ids it proposes; None where it only repeats ids of the context."""

    def propose(self, context: Sequence[int], position: int, count: int, rule: MatchRule) -> Proposal:
        """Propose at most ``count`` ids to follow ``context`` (prompt and accepted ids, never empty).

        ``position``: the branch position of the first of them. ``rule``: how the target will draw.
        """
