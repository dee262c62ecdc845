"""The incident of tool-call-side-effects.md ("What Was Observed") as tokens: a window of drafts, and the target's true ones.

Three blocks stand in one window of 48 drafts: A creates a coupon, B deletes another one, C reads the one that B deletes.
The drafter spells A's coupon wrong, with a name that the shop takes for as good as any other. What the verifier says is
the comparison with the true tokens, so that every orchestrator meets the same drafts and the same judge.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from decoding.calls.block import Block
from decoding.calls.hermes import HermesDetector
from decoding.calls.scan import scan

WINDOW = 48
GONE, WANTED, MALFORMED = "WINTER81", "SUMMER25", "SUNMER25"
PERCENT = 15

_PIECE = re.compile(
    r'</?tool_call>|\{"name": "|", "arguments": \{"| ?[a-z]+|_[a-z]+|[A-Z]{1,3}|[0-9]+|[^A-Za-z0-9<_ ][^A-Za-z0-9<_]*'
)


@dataclass(frozen=True)
class Drafted:
    """Drafts that begin at ``start``."""

    round: int
    start: int
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Ruled:
    """The verdict on the drafts [start, end); ``own``: the target's token where it rejected one."""

    round: int
    start: int
    end: int
    accepted: int
    own: str | None


@dataclass(frozen=True)
class Finished:
    """The message is complete."""


Move = Drafted | Ruled | Finished


@dataclass(frozen=True)
class Story:
    """One variant. ``ruled_to``: up to which positions the window is ruled, one ruling after the other."""

    name: str
    true: tuple[str, ...]
    window: tuple[str, ...]
    ruled_to: tuple[int, ...] = (WINDOW,)

    def moves(self) -> Iterator[Move]:
        """What drafter and verifier say, in order: the window, its rulings, the rest drafted anew, the end."""
        head = round_ = 0
        yield Drafted(round_, head, self.window)
        for end in self.ruled_to:
            ruling = self._rule(round_, head, end)
            yield ruling
            head += ruling.accepted
            if ruling.own is not None:
                head, round_ = head + 1, round_ + 1
                break
        rest = self.true[head:]
        if rest:
            yield Drafted(round_, head, rest)
            yield Ruled(round_, head, head + len(rest), len(rest), None)
        yield Finished()

    def cut(self) -> int:
        """Position of the first draft that is not the target's token."""
        return next(
            at for at, (draft, true) in enumerate(zip(self.window, self.true, strict=True)) if draft != true
        )

    def _rule(self, round_: int, start: int, end: int) -> Ruled:
        accepted = 0
        while start + accepted < end and self.window[start + accepted] == self.true[start + accepted]:
            accepted += 1
        own = self.true[start + accepted] if start + accepted < end else None
        return Ruled(round_, start, end, accepted, own)


def tokens(text: str) -> tuple[str, ...]:
    """The text in tokens of a made-up vocabulary."""
    cut = tuple(_PIECE.findall(text))
    assert "".join(cut) == text
    return cut


def blocks(texts: tuple[str, ...] | list[str]) -> tuple[Block, ...]:
    """The closed call blocks that tokens spell, as any runtime reads them."""
    return scan(HermesDetector(), texts)


def create(code: str) -> str:
    return _spell("create_coupon", code=code, percent=PERCENT)


def delete() -> str:
    return _spell("delete_coupon", code=GONE)


def read() -> str:
    return _spell("get_coupon", code=GONE)


def _spell(tool: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def _window(*calls: str) -> tuple[str, ...]:
    return tokens("I will tidy the coupons.\n" + "\n".join(calls))


CREATE_FIRST = Story(
    "create, delete, read; cut in the create",
    true=_window(create(WANTED), delete(), read()),
    window=_window(create(MALFORMED), delete(), read()),
)
CREATE_LAST = Story(
    "delete, read, create; last 9 rejected",
    true=_window(delete(), read(), create(WANTED)),
    window=_window(delete(), read(), create(MALFORMED)),
)
CLEARED_TOGETHER = Story(
    "delete and read cleared in one ruling",
    true=CREATE_LAST.true,
    window=CREATE_LAST.window,
    ruled_to=(blocks(CREATE_LAST.window)[1].end, WINDOW),
)
STORIES = (CREATE_FIRST, CREATE_LAST, CLEARED_TOGETHER)
