"""Drafters that misbehave on purpose."""

from collections.abc import Sequence

from decoding.drafters.base import Drafter, Proposal
from decoding.rules.match import MatchRule


class Corrupted:
    """Another drafter's proposals with a wrong id at ``offset`` of every window: a forced rejection there.

    Wrong is any id but the one that ``truth`` (plain decoding's ids) has at that position.
    """

    def __init__(self, inner: Drafter, offset: int, truth: Sequence[int]) -> None:
        self.name = f"{inner.name}!{offset}"
        self.tokenizer_digest = inner.tokenizer_digest
        self.forced = 0
        self._inner = inner
        self._offset = offset
        self._truth = tuple(truth)

    def propose(self, context: Sequence[int], position: int, count: int, rule: MatchRule) -> Proposal:
        proposal = self._inner.propose(context, position, count, rule)
        ids = list(proposal.ids)
        # Up to the forced offset the truth is drafted, else an earlier rejection would hide the forced one.
        wanted = list(self._truth[position : position + min(self._offset + 1, count)])
        ids[: len(wanted)] = wanted
        if self._offset < len(ids) and position + self._offset < len(self._truth):
            ids[self._offset] = (ids[self._offset] + 1 + self._offset) % rule.vocabulary
            self.forced += 1
        return Proposal(tuple(ids), proposal.kind)


class Scripted:
    """Drafts what is given for each position, whatever came before."""

    def __init__(self, truth: Sequence[int], name: str = "scripted") -> None:
        self.name = name
        self.tokenizer_digest = None
        self._truth = tuple(truth)

    def propose(self, context: Sequence[int], position: int, count: int, rule: MatchRule) -> Proposal:
        return Proposal(self._truth[position : position + count], "point")
