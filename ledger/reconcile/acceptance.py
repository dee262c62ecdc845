"""What the verifier accepted, worked out anew from the token events of a stream and from nothing else.

Neither projections nor the typed columns nor the events about blocks and intents are asked, and the fold is not used:
what reconciliation is to check must not be what it believes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from ledger.events import Event, EventType


class UnreadableTokens(Exception):
    """The token events do not follow one another from ``seq`` on."""

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"event {seq}: {why}")
        self.seq = seq


@dataclass(frozen=True, slots=True)
class PlacedToken:
    """A token in its place. ``seq`` and ``round``: those of the event that brought it."""

    text: str
    id: int | None
    seq: int
    round: int


@dataclass(frozen=True)
class AcceptedBranch:
    """The accepted tokens of one branch. ``heads``, ``seqs``: head after each event that moved it, in order.

    ``redacted``: seqs of events that are; the tokens that these brought are there, and their texts are not.
    """

    tokens: Sequence[PlacedToken]
    heads: Sequence[int]
    seqs: Sequence[int]
    redacted: frozenset[int] = frozenset()

    def accepted_seq(self, end: int, closed_seq: int) -> int | None:
        """Seq of the event that accepted the block that ends before ``end`` and closed at ``closed_seq``.

        None where the tokens in its place are not accepted, or are others: after a cut below its end the last token
        of whatever stands there is a later one.
        """
        if not 0 < end <= len(self.tokens) or self.tokens[end - 1].seq != closed_seq:
            return None
        return self.reached(end)

    def reached(self, end: int) -> int:
        """Seq of the event that took head to ``end`` (or beyond), which it has reached."""
        return self.seqs[bisect_left(self.heads, end)]

    @cached_property
    def text(self) -> bytes:
        """What the accepted tokens spell, in UTF-8."""
        return "".join(token.text for token in self.tokens).encode()

    @cached_property
    def gaps(self) -> Sequence[int]:
        """Positions of the tokens whose texts are gone, in order."""
        return [place for place, token in enumerate(self.tokens) if token.seq in self.redacted]

    def is_readable(self, start: int, end: int) -> bool:
        """Whether every token of the span has its text."""
        return bisect_left(self.gaps, start) == bisect_left(self.gaps, end)

    def readable_runs(self) -> Iterator[tuple[int, int]]:
        """The longest spans in which every token has its text, in order."""
        start = 0
        for gap in (*self.gaps, len(self.tokens)):
            if gap > start:
                yield start, gap
            start = gap + 1


def accepted_branches(events: Iterable[Event]) -> Mapping[str, AcceptedBranch]:
    """The accepted tokens of every branch that has token events. Raises ``UnreadableTokens``."""
    lanes: dict[str, _Lane] = {}
    redacted: set[int] = set()
    for event in events:
        if event.redacted:
            redacted.add(event.seq)
        move = _MOVES.get(event.type)
        if move is None:
            continue
        lane = lanes.setdefault(str(event.branch), _Lane())
        try:
            move(lane, event.seq, cast("Mapping[str, Any]", event.payload))
        except (KeyError, TypeError, AttributeError) as error:
            raise UnreadableTokens(event.seq, f"{event.type.value} is redacted or malformed") from error
        lane.note_head(event.seq)
    gone = frozenset(redacted)
    return {name: AcceptedBranch(lane.accepted, lane.heads, lane.seqs, gone) for name, lane in lanes.items()}


@dataclass(slots=True)
class _Lane:
    accepted: list[PlacedToken] = field(default_factory=list)
    pending: list[PlacedToken] = field(default_factory=list)
    round: int = 0
    heads: list[int] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)

    def note_head(self, seq: int) -> None:
        if len(self.accepted) > (self.heads[-1] if self.heads else 0):
            self.heads.append(len(self.accepted))
            self.seqs.append(seq)

    def placed(self, token: Mapping[str, Any], seq: int) -> PlacedToken:
        return PlacedToken(token["text"], token.get("id"), seq, self.round)

    def drafted(self, seq: int, body: Mapping[str, Any]) -> None:
        self.pending += [self.placed(token, seq) for token in body["tokens"]]

    def took(self, seq: int, body: Mapping[str, Any]) -> None:
        if self.pending:
            raise UnreadableTokens(seq, "tokens are accepted while drafts are pending")
        self.accepted += [self.placed(token, seq) for token in body["tokens"]]

    def ruled(self, seq: int, body: Mapping[str, Any]) -> None:
        start, end, stand = body["start"], body["end"], body["accepted"]
        if start != len(self.accepted) or not 0 <= stand <= end - start <= len(self.pending):
            raise UnreadableTokens(seq, "a ruling is not about the drafts that are pending")
        self.accepted += self.pending[:stand]
        rest = self.pending[stand:]
        own = body.get("token")
        if stand < end - start or (own is not None and rest and not _equal(own, rest[0])):
            self.round += 1
            rest = []
        if own is not None:
            self.accepted.append(rest[0] if rest else self.placed(own, seq))
            rest = rest[1:]
        self.pending = rest

    def voided(self, _seq: int, _body: Mapping[str, Any]) -> None:
        self.round += bool(self.pending)
        self.pending = []


def _equal(own: Mapping[str, Any], draft: PlacedToken) -> bool:
    if own.get("id") is not None and draft.id is not None:
        return bool(own["id"] == draft.id)
    return bool(own["text"] == draft.text)


_MOVES = {
    EventType.TOKENS_DRAFTED: _Lane.drafted,
    EventType.TOKENS_ACCEPTED: _Lane.took,
    EventType.TOKENS_RULED: _Lane.ruled,
    EventType.DRAFTS_VOIDED: _Lane.voided,
}
