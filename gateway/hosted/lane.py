"""What is drafted of a message, where it stands in its branch, and what the finished message makes of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gateway.hosted.call import GatheredCall
from gateway.hosted.spelling import characters, escaped
from gateway.hosted.tail import TextTail, begins_opener

TokenEvent: TypeAlias = dict[str, object]
"""One token event in the wire form of interface.md."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One token: text that the model said, or a call."""

    spelled: str
    text: str = ""
    call: GatheredCall | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The finished message: all of its text, and its calls in order. ``cut``: the last call was never ended."""

    text: str
    calls: Sequence[GatheredCall]
    cut: bool = False


class Lane:
    """One branch of one stream. Positions count tokens, as everywhere."""

    def __init__(self, branch: str, head: int, round_: int) -> None:
        """Drafts go on at ``head`` in round ``round_``."""
        self._branch, self._head, self._round = branch, head, round_
        self._drafts: list[Piece] = []
        self._accepted: list[tuple[int, GatheredCall]] = []
        self._tail = TextTail()
        self._events: list[TokenEvent] = []

    def say(self, delta: str) -> None:
        """Draft text."""
        text = self._tail.take(delta)
        if text:
            self._draft(Piece(escaped(text), text))

    def call(self, call: GatheredCall) -> None:
        """Draft a call."""
        held = self._tail.flush()
        if held:
            self._draft(Piece(held, held))
        self._draft(Piece(call.spelled(), call=call))

    def reject(self) -> None:
        """Everything that is drafted is void; the next draft is of another round."""
        self._tail = TextTail()
        if self._drafts:
            self._rule(0)

    @property
    def said(self) -> str:
        """All text of the message so far."""
        drafted = (piece.text for piece in self._drafts if piece.call is None)
        return "".join(drafted) + characters(self._tail.held)

    def settle(self, finished: Finished) -> None:
        """The finished message rules: drafts are accepted up to the first that it does not say, and the rest of it follows."""
        text = characters(finished.text)
        accepted, said, called = self._agreeing(text, finished.calls)
        if accepted and said < len(text) and begins_opener(self._drafts[accepted - 1].text):
            accepted -= 1  # What the message says instead of the next draft could complete it.
            said -= len(self._drafts[accepted].text)
        for piece, call in zip(self._calls_of(accepted), finished.calls, strict=False):
            piece.call_id = call.call_id or piece.call_id
        rest = list(_rest(text[said:], finished.calls[called:], finished.cut))
        if self._drafts:
            self._rule(accepted)
        if rest:
            self._emit("tokens.accepted", round=self._round, tokens=[{"text": p.spelled} for p in rest])
            self._accept(rest)

    def end(self, reason: str) -> None:
        """Nothing follows."""
        self._events.append({"type": "stream.finished", "reason": reason})

    def drain(self) -> list[TokenEvent]:
        """The events since the last time."""
        events, self._events = self._events, []
        return events

    @property
    def call_ids(self) -> dict[int, str]:
        """The provider's latest id of every call that is accepted or drafted, by the position of its block."""
        drafted = enumerate(self._drafts, self._head)
        placed = [
            *self._accepted,
            *((place, piece.call) for place, piece in drafted if piece.call is not None),
        ]
        return {place: call.call_id for place, call in placed if call.call_id is not None}

    def _draft(self, piece: Piece) -> None:
        token = {"text": piece.spelled}
        last = self._events[-1] if self._events else None
        if last is not None and last["type"] == "tokens.drafted" and isinstance(last["tokens"], list):
            last["tokens"].append(token)
        else:
            start = self._head + len(self._drafts)
            self._emit("tokens.drafted", round=self._round, start=start, tokens=[token])
        self._drafts.append(piece)

    def _rule(self, accepted: int) -> None:
        drafts, self._drafts = self._drafts, []
        end = self._head + len(drafts)
        self._emit("tokens.ruled", round=self._round, start=self._head, end=end, accepted=accepted)
        self._round += accepted < len(drafts)
        self._accept(drafts[:accepted])

    def _accept(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if piece.call is not None:
                self._accepted.append((self._head, piece.call))
            self._head += 1

    def _agreeing(self, text: str, calls: Sequence[GatheredCall]) -> tuple[int, int, int]:
        """How many drafts the message says, and how much of its text and how many of its calls they are."""
        said = called = 0
        for place, piece in enumerate(self._drafts):
            if piece.call is None:
                if not text.startswith(piece.text, said):
                    return place, said, called
                said += len(piece.text)
            else:
                if called == len(calls) or not _is_said(piece, piece.call, calls[called]):
                    return place, said, called
                called += 1
        return len(self._drafts), said, called

    def _calls_of(self, accepted: int) -> list[GatheredCall]:
        return [piece.call for piece in self._drafts[:accepted] if piece.call is not None]

    def _emit(self, type_: str, **members: object) -> None:
        self._events.append({"type": type_, "branch": self._branch, **members})


def _is_said(piece: Piece, drafted: GatheredCall, final: GatheredCall) -> bool:
    if final.by_value and final.ended:
        # Only if nothing was added to it since it was drafted.
        return drafted.says(piece.spelled) and drafted.same_value(final)
    return final.says(piece.spelled)


def _rest(text: str, calls: Sequence[GatheredCall], cut: bool) -> Iterator[Piece]:
    if text:
        yield Piece(escaped(text), text)
    for number, call in enumerate(calls, 1):
        is_open = cut and number == len(calls)
        yield Piece(call.spelled_open() if is_open else call.spelled(), call=call)
