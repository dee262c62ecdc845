"""Prompt lookup: the longest suffix that occurred before is likely to go on as it did then."""

from collections.abc import Sequence

from decoding.drafters.base import Proposal
from decoding.errors import OptionsError
from decoding.rules.match import MatchRule


class NgramDrafter:
    """Proposes the ids that followed the latest earlier occurrence of the context's longest repeated suffix.

    ``longest``, ``shortest``: lengths of suffix that are tried, longest first. Costs no model pass. Raises
    ``OptionsError`` unless ``1 <= shortest <= longest``.
    """

    def __init__(self, name: str = "ngram", *, longest: int = 3, shortest: int = 1) -> None:
        """See the class."""
        if not 1 <= shortest <= longest:
            raise OptionsError(f"1 <= shortest <= longest does not hold for {shortest} and {longest}")
        self.name = name
        self.tokenizer_digest: str | None = None
        self._lengths = range(longest, shortest - 1, -1)

    def propose(
        self,
        context: Sequence[int],
        position: int,  # noqa: ARG002
        count: int,
        rule: MatchRule,  # noqa: ARG002
    ) -> Proposal:
        """See ``Drafter.propose``."""
        ids = tuple(context)
        for length in self._lengths:
            follow = _after_latest(ids, length)
            if follow is not None:
                return Proposal(ids[follow : follow + count], "point")
        return Proposal((), "point")


def _after_latest(ids: tuple[int, ...], length: int) -> int | None:
    """The index behind the latest earlier occurrence of the last ``length`` ids, or None."""
    suffix = ids[len(ids) - length :]
    if len(suffix) < length:
        return None
    for start in range(len(ids) - length - 1, -1, -1):
        if ids[start : start + length] == suffix:
            return start + length
    return None
