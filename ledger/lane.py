"""How token events move one branch: drafting, ruling, accepting, voiding drafts (interface.md, "Token events").

Pure: each function takes a branch and gives the branch after. Whether an event is allowed is for the caller to have checked.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, cast

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


# Tokens are made by the hundred thousand: without a call of Python for each.
_TOKEN = cast("Callable[[tuple[Any, ...]], Token]", partial(tuple.__new__, Token))


def placed(tokens: Iterable[Mapping[str, Any]], *, round_: int, seq: int) -> tuple[Token, ...]:
    """Tokens as the payload of an event spells them (``text``, ``id``, ``drafter``), with their round and seq."""
    spelled = list(tokens)
    texts, ids = [t["text"] for t in spelled], [t.get("id") for t in spelled]
    drafters = [t.get("drafter") for t in spelled]
    return tuple(map(_TOKEN, zip(texts, ids, repeat(round_), repeat(seq), drafters, strict=False)))


def draft(branch: Branch, tokens: tuple[Token, ...]) -> Branch:
    """Append drafts behind the drafted end. ``tokens``: of the branch's round."""
    return Branch(branch.name, branch.round, branch.accepted, branch.pending + tokens)


def accept(branch: Branch, tokens: tuple[Token, ...]) -> Branch:
    """Append tokens that were never drafted. ``tokens``: of the branch's round."""
    return Branch(branch.name, branch.round, branch.accepted + tokens, branch.pending)


def rule(branch: Branch, *, judged: int, accepted: int, token: SpelledToken | None, seq: int) -> Branch:
    """Rule on the first ``judged`` drafts: ``accepted`` of them stand, ``token`` is the target's own next token.

    A rejection drops every draft from the cut on and starts the next round; so does a ``token`` that differs from the
    draft at its place. A ``token`` equal to that draft accepts it.
    """
    kept = branch.accepted + branch.pending[:accepted]
    rest = branch.pending[accepted:]
    if accepted == judged:
        if token is None:
            return Branch(branch.name, branch.round, kept, rest)
        if not rest:
            return Branch(branch.name, branch.round, (*kept, _own(token, branch.round, seq)))
        if token.equals(rest[0]):
            return Branch(branch.name, branch.round, (*kept, rest[0]), rest[1:])
    next_round = branch.round + 1
    own = () if token is None else (_own(token, next_round, seq),)
    return Branch(branch.name, next_round, kept + own)


def void_drafts(branch: Branch) -> Branch:
    """Drop all pending drafts; the round goes on if there were any."""
    return replace(branch, pending=(), round=branch.round + 1) if branch.pending else branch


def _own(token: SpelledToken, round_: int, seq: int) -> Token:
    return Token(token.text, token.id, round_, seq, token.drafter)
