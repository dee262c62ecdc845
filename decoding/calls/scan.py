"""A whole token stream at once."""

from collections.abc import Iterable
from typing import TypeVar

from decoding.calls.block import Block, Detector

S = TypeVar("S")


def scan(detector: Detector[S], texts: Iterable[str]) -> tuple[Block, ...]:
    """The closed blocks of a branch whose tokens spell ``texts``, in order. A block still open at the end is
    not one."""
    state = detector.start()
    found: list[Block] = []
    for text in texts:
        state, closed = detector.feed(state, text)
        found.extend(closed)
    return tuple(found)
