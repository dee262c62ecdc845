"""The model's token lanes: a list of tokens, of which the first ``head`` are accepted (interface.md, "Token events")."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Tok(NamedTuple):
    text: str
    id: int | None
    round: int


def told(token: dict[str, object], round_: int) -> Tok:
    """A token as an event says it, with the round that it takes."""
    return Tok(str(token["text"]), token.get("id"), round_)  # type: ignore[arg-type]


def same(one: Tok, other: Tok) -> bool:
    """By id if both have one, else by text."""
    return one.id == other.id if None not in (one.id, other.id) else one.text == other.text


@dataclass
class Lane:
    tokens: list[Tok] = field(default_factory=list)
    head: int = 0
    round: int = 0

    @property
    def drafted_end(self) -> int:
        return len(self.tokens)

    @property
    def pending(self) -> list[Tok]:
        return self.tokens[self.head :]

    def copy(self) -> "Lane":
        return Lane(list(self.tokens), self.head, self.round)

    def texts(self) -> list[str]:
        return [token.text for token in self.tokens]

    def accepted_text(self) -> str:
        return "".join(token.text for token in self.tokens[: self.head])

    def draft(self, tokens: list[dict[str, object]]) -> None:
        self.tokens += [told(token, self.round) for token in tokens]

    def accept(self, tokens: list[dict[str, object]]) -> None:
        self.tokens += [told(token, self.round) for token in tokens]
        self.head = len(self.tokens)

    def rule(self, end: int, accepted: int, own: dict[str, object] | None) -> int | None:
        """Where drafts were cut; None where none was rejected."""
        cut = self.head + accepted
        if cut < end:
            return self._cut(cut, own)
        self.head = end
        if own is None:
            return None
        if end == len(self.tokens):
            self.accept([own])
            return None
        if same(told(own, self.round), self.tokens[end]):
            self.head += 1
            return None
        return self._cut(end, own)

    def _cut(self, at: int, own: dict[str, object] | None) -> int:
        del self.tokens[at:]
        self.head = at
        self.round += 1
        if own is not None:
            self.accept([own])
        return at

    def void_drafts(self) -> bool:
        """A takeover; whether there were drafts."""
        if not self.pending:
            return False
        del self.tokens[self.head :]
        self.round += 1
        return True
