"""How token events move one branch: drafting, ruling, accepting, voiding drafts (interface.md, "Token events").

Pure: each function takes a branch and gives the branch after. Whether an event is allowed is for the caller to have checked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ledger.state import Branch, Token


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


def draft(branch: Branch, tokens: Sequence[SpelledToken], *, seq: int) -> Branch:
    """Append drafts behind the drafted end."""
    placed = tuple(_placed(tokens, round_=branch.round, seq=seq))
    return replace(branch, pending=branch.pending + placed)


def accept(branch: Branch, tokens: Sequence[SpelledToken], *, seq: int) -> Branch:
    """Append tokens that were never drafted; they take the branch's round."""
    placed = tuple(_placed(tokens, round_=branch.round, seq=seq))
    return replace(branch, accepted=branch.accepted + placed)


def rule(branch: Branch, *, judged: int, accepted: int, token: SpelledToken | None, seq: int) -> Branch:
    """Rule on the first ``judged`` drafts: ``accepted`` of them stand, ``token`` is the target's own next token.

    A rejection drops every draft from the cut on and starts the next round; so does a ``token`` that differs from the
    draft at its place. A ``token`` equal to that draft accepts it.
    """
    kept = branch.accepted + branch.pending[:accepted]
    rest = branch.pending[accepted:]
    if accepted == judged:
        if token is None:
            return replace(branch, accepted=kept, pending=rest)
        if not rest:
            own = tuple(_placed((token,), round_=branch.round, seq=seq))
            return replace(branch, accepted=kept + own, pending=())
        if token.equals(rest[0]):
            return replace(branch, accepted=(*kept, rest[0]), pending=rest[1:])
    next_round = branch.round + 1
    own = () if token is None else tuple(_placed((token,), round_=next_round, seq=seq))
    return replace(branch, accepted=kept + own, pending=(), round=next_round)


def void_drafts(branch: Branch) -> Branch:
    """Drop all pending drafts; the round goes on if there were any."""
    return replace(branch, pending=(), round=branch.round + 1) if branch.pending else branch


def _placed(tokens: Iterable[SpelledToken], *, round_: int, seq: int) -> Iterable[Token]:
    return (Token(t.text, t.id, round_, seq, t.drafter) for t in tokens)
