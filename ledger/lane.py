"""How token events move one branch: drafting, ruling, accepting, voiding drafts (interface.md, "Token events").

Pure: each function takes a branch and gives the branch after. Whether an event is allowed is for the caller to have checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ledger.state import Branch
from ledger.tokens import NO_TOKENS, Stretch, Token, stretch

Said = Sequence[Mapping[str, Any]]
"""Tokens as the payload of an event spells them (``text``, ``id``, ``drafter``)."""


@dataclass(frozen=True, slots=True)
class SpelledToken:
    """A token as an event carries it, before it has a place: its text, its id if the writer knows it, who drafted it."""

    text: str
    id: int | None = None
    drafter: str | None = None

    def equals(self, token: Token) -> bool:
        """Equal by id if both have one, else by text."""
        if self.id is not None and token.id is not None:
            return self.id == token.id
        return self.text == token.text


def draft(branch: Branch, said: Said, *, seq: int) -> Branch:
    """Append drafts behind the drafted end, in the branch's round."""
    pending = branch.pending
    if said:
        pending = pending.plus(stretch(said, start=branch.drafted_end, round_=branch.round, seq=seq))
    return Branch(branch.name, branch.round, branch.accepted, pending)


def accept(branch: Branch, said: Said, *, seq: int) -> Branch:
    """Append tokens that were never drafted, in the branch's round."""
    accepted = branch.accepted
    if said:
        accepted = accepted.plus(stretch(said, start=branch.head, round_=branch.round, seq=seq))
    return Branch(branch.name, branch.round, accepted, branch.pending)


def rule(branch: Branch, *, judged: int, accepted: int, token: SpelledToken | None, seq: int) -> Branch:
    """Rule on the first ``judged`` drafts: ``accepted`` of them stand, ``token`` is the target's own next token.

    A rejection drops every draft from the cut on and starts the next round; so does a ``token`` that differs from the
    draft at its place. A ``token`` equal to that draft accepts it.
    """
    round_, kept, rest = branch.round, branch.accepted, NO_TOKENS
    if accepted == judged:
        rest = branch.pending.after(accepted)
        if rest and token is not None and token.equals(rest[0]):
            accepted, token, rest = accepted + 1, None, rest.after(1)
    if accepted < judged or (rest and token is not None):
        round_, rest = round_ + 1, NO_TOKENS
    for each in branch.pending.first(accepted).stretches:
        kept = kept.plus(each)
    if token is not None:
        own = Stretch(len(kept), (token.text,), (token.id,), (token.drafter,), round_, seq)
        kept = kept.plus(own)
    return Branch(branch.name, round_, kept, rest)


def void_drafts(branch: Branch) -> Branch:
    """Drop all pending drafts; the round goes on if there were any."""
    return Branch(branch.name, branch.round + 1, branch.accepted) if branch.pending else branch
