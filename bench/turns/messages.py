"""The messages: text, several reads and a write, what a weak drafter makes of them, all from a seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from bench.turns.arms import READ, WRITE

WINDOW = 16
"""Tokens that the drafts are ahead of the rulings."""

READS = 3
TEXT = (8, 16)
"""Tokens of text before each call: at least, at most."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of a message, and the version of its order that running the calls one by one in order would give."""

    tool: str
    order: str
    version: int


@dataclass(frozen=True, slots=True)
class Message:
    """``tokens``: what is accepted in the end. ``drafts``: what is proposed at the same positions."""

    tokens: tuple[str, ...]
    drafts: tuple[str, ...]
    calls: tuple[Asked, ...]


def message(number: int, prefix: str, *, seed: int, rejected: float) -> Message:
    """The message of this number: always the same but for the names of its orders, which begin with ``prefix``.

    A share ``rejected`` of its calls is drafted with an order that does not exist.
    """
    chance = random.Random(f"{seed}:{number}")
    names = [f"{prefix}/{number}/{index}" for index in range(READS)]
    places = [(READ, name) for name in names]
    places.insert(chance.randrange(READS + 1), (WRITE, chance.choice(names)))
    calls, tokens, drafts = [], [], []
    versions = dict.fromkeys(names, 0)
    for tool, order in places:
        versions[order] += tool == WRITE
        calls.append(Asked(tool, order, versions[order]))
        text = [f" word{chance.randrange(1000)}" for _ in range(chance.randint(*TEXT))]
        wrong = chance.random() < rejected
        tokens += [*text, *_block(tool, order)]
        drafts += [*text, *_block(tool, f"{order}?" if wrong else order)]
    return Message(tuple(tokens), tuple(drafts), tuple(calls))


def _block(tool: str, order: str) -> list[str]:
    return [
        "<tool_call>",
        '{"',
        "name",
        '":"',
        tool,
        '","arguments":{"',
        "order",
        '":"',
        order,
        '"}',
        "}",
        "</tool_call>",
    ]


@dataclass(frozen=True, slots=True)
class Batch:
    """Token events that are written once ``emitted`` tokens of the message are out."""

    emitted: int
    events: tuple[dict[str, object], ...]


def batches(message: Message, *, whole: bool) -> Iterator[Batch]:
    """What a decoder writes: each window is drafted when the one before is ruled on; ``whole``: all at the end, undrafted.

    Where a draft is wrong its ruling brings the target's own token, and the rest of the window follows undrafted: a wrong
    draft costs no time, so that arms differ in what is done with drafts alone.
    """
    size = len(message.tokens)
    finish: dict[str, object] = {"type": "stream.finished", "reason": "stop"}
    if whole:
        yield Batch(size, (_accepted(0, message.tokens), finish))
        return
    round_ = 0
    before: tuple[dict[str, object], ...] = ()
    for start in range(0, size, WINDOW):
        yield Batch(start, (*before, _drafted(round_, start, message.drafts[start : start + WINDOW])))
        before = _ruled(message, round_, start)
        round_ += message.drafts[start : start + WINDOW] != message.tokens[start : start + WINDOW]
    yield Batch(size, (*before, finish))


def _drafted(round_: int, start: int, texts: tuple[str, ...]) -> dict[str, object]:
    tokens = [{"text": text, "drafter": "small"} for text in texts]
    return {"type": "tokens.drafted", "round": round_, "start": start, "tokens": tokens}


def _ruled(message: Message, round_: int, start: int) -> tuple[dict[str, object], ...]:
    """The ruling on the window that was drafted at ``start``, and what is accepted behind a wrong draft."""
    drafts, tokens = message.drafts[start : start + WINDOW], message.tokens[start : start + WINDOW]
    ruling: dict[str, object] = {
        "type": "tokens.ruled",
        "round": round_,
        "start": start,
        "end": start + len(drafts),
        "accepted": len(drafts),
    }
    wrong = next(
        (at for at, (draft, token) in enumerate(zip(drafts, tokens, strict=True)) if draft != token), None
    )
    if wrong is None:
        return (ruling,)
    ruling |= {"accepted": wrong, "token": {"text": tokens[wrong]}}
    rest = tokens[wrong + 1 :]
    return (ruling, _accepted(round_ + 1, rest)) if rest else (ruling,)


def _accepted(round_: int, texts: tuple[str, ...]) -> dict[str, object]:
    return {"type": "tokens.accepted", "round": round_, "tokens": [{"text": text} for text in texts]}
