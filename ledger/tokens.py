"""Tokens of a branch by position, kept as the stretches in which events brought them.

A long message has many tokens and few events, so what is kept are columns, and a single token is made when it is asked for.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, overload


class Token(NamedTuple):
    """One token of a branch: ``round`` and ``seq`` are those of the event that brought it (design.md, "call block")."""

    text: str
    id: int | None
    round: int
    seq: int
    drafter: str | None = None


class Stretch(NamedTuple):
    """Neighbouring tokens that one event brought: ``start`` is the position of the first, columns are equally long."""

    start: int
    texts: tuple[str, ...]
    ids: tuple[int | None, ...]
    drafters: tuple[str | None, ...]
    round: int
    seq: int

    def tokens(self) -> Iterator[Token]:
        """Its tokens, one after another."""
        return map(Token, self.texts, self.ids, repeat(self.round), repeat(self.seq), self.drafters)

    def cut(self, first: int, end: int) -> "Stretch":
        """Its tokens at the positions [first, end)."""
        part = slice(first - self.start, end - self.start)
        return Stretch(first, self.texts[part], self.ids[part], self.drafters[part], self.round, self.seq)

    def blank(self) -> "Stretch":
        """As many tokens without text, id and drafter."""
        nothing = (None,) * len(self.texts)
        return Stretch(self.start, ("",) * len(self.texts), nothing, nothing, self.round, self.seq)


_COLUMNS = itemgetter("text", "id", "drafter")
_START = attrgetter("start")


def stretch(said: Sequence[Mapping[str, Any]], *, start: int, round_: int, seq: int) -> Stretch:
    """At least one token as the payload of an event spells them (``text``, ``id``, ``drafter``)."""
    try:
        texts, ids, drafters = zip(*map(_COLUMNS, said), strict=True)
    except KeyError:
        texts = tuple([token["text"] for token in said])
        ids = tuple([token.get("id") for token in said])
        drafters = tuple([token.get("drafter") for token in said])
    return Stretch(start, texts, ids, drafters, round_, seq)


class Tokens(Sequence[Token]):
    """Neighbouring tokens of one branch. A value: nothing that it holds ever changes.

    What follows one another in time shares one list of stretches, of which each sees as many as were there when it was
    made: to add some at the end costs the same at any length.
    """

    __slots__ = ("_count", "_length", "_stretches")

    def __init__(self, stretches: Iterable[Stretch] = ()) -> None:
        """``stretches``: none is empty, each starts where the one before it ends."""
        self._stretches = list(stretches)
        self._count = len(self._stretches)
        self._length = sum([len(each.texts) for each in self._stretches])

    @property
    def stretches(self) -> list[Stretch]:
        """What it is made of, in order."""
        return self._stretches[: self._count]

    @property
    def texts(self) -> Iterator[str]:
        """The text of each token."""
        return chain.from_iterable([each.texts for each in self.stretches])

    @property
    def ids(self) -> Iterator[int | None]:
        """The id of each token."""
        return chain.from_iterable([each.ids for each in self.stretches])

    def plus(self, added: Stretch) -> "Tokens":
        """These and then ``added``, which starts where they end."""
        held, count = self._stretches, self._count
        if not count:
            return _made([added], 1, len(added.texts))
        if len(held) == count:
            held.append(added)
        # Somebody else may have added to the same tokens, in another thread even: then the list is theirs, unless they
        # added just this (a decision that is taken, and then folded again as it is written).
        if held[count] is not added and held[count] != added:
            held = held[:count]
            held.append(added)
        return _made(held, count + 1, self._length + len(added.texts))

    def first(self, number: int) -> "Tokens":
        """The first ``number`` of them, or all where there are no more."""
        return self if number >= self._length else self._part(0, number)

    def after(self, number: int) -> "Tokens":
        """Those behind the first ``number``."""
        return self._part(number, self._length)

    def begins_with(self, other: "Tokens") -> bool:
        """Whether ``other`` is a beginning of these."""
        if other._stretches is self._stretches:
            return other._count <= self._count
        return other._length <= self._length and self.first(other._length) == other

    def _part(self, first: int, end: int) -> "Tokens":
        if first >= end:
            return NO_TOKENS
        if (first, end) == (0, self._length):
            return self
        held = self._stretches
        offset = held[0].start
        first, end = first + offset, end + offset
        if self._count == 1:
            return _made([held[0].cut(first, end)], 1, end - first)
        low, high = self._place(first), self._place(end - 1)
        parts = held[low : high + 1]
        parts[-1] = parts[-1].cut(parts[-1].start, end)
        parts[0] = parts[0].cut(first, parts[0].start + len(parts[0].texts))
        return _made(parts, len(parts), end - first)

    def _place(self, position: int) -> int:
        """Which of its stretches holds ``position``."""
        return bisect_right(self._stretches, position, 0, self._count, key=_START) - 1

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Token]:
        return chain.from_iterable([each.tokens() for each in self.stretches])

    @overload
    def __getitem__(self, at: int) -> Token: ...
    @overload
    def __getitem__(self, at: slice) -> "Tokens": ...
    def __getitem__(self, at: int | slice) -> "Token | Tokens":
        if isinstance(at, slice):
            first, end, step = at.indices(self._length)
            if step != 1:
                raise ValueError("only neighbouring tokens are tokens again")
            return self._part(first, end)
        place = at + self._length if at < 0 else at
        if not 0 <= place < self._length:
            raise IndexError("no token at this place")
        place += self._stretches[0].start
        found = self._stretches[self._place(place)]
        place -= found.start
        return Token(found.texts[place], found.ids[place], found.round, found.seq, found.drafters[place])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Tokens):
            if self._length != other._length:
                return False
            same = self._stretches is other._stretches and self._count == other._count
            return same or self.stretches == other.stretches or list(self) == list(other)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Tokens({self.stretches!r})"


def _made(stretches: list[Stretch], count: int, length: int) -> Tokens:
    made = Tokens.__new__(Tokens)
    made._stretches, made._count, made._length = stretches, count, length
    return made


NO_TOKENS = Tokens()
