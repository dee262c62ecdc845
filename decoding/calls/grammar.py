"""What a format says about itself: where the scan of its text may stand, and what each thing met there does.

A grammar is a table of modes. In a mode the scan looks for the first match of one pattern and passes over all other
text; the grammar answers each match with a ``Step``. One scan (``decoding.calls.scanner``) serves every format.
"""

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from decoding.calls.block import Call

TEXT = "text"
"""The mode outside of blocks, where only an opener matters."""


class Action(Enum):
    """What a match does to the scan."""

    GO = "go on in a mode, behind the match"
    LOOK_AGAIN = "go on in a mode, at the match"
    BEGIN = "a block begins with the match"
    END = "the block ends with the match"
    END_BEFORE = "the block ends before the match, which is looked at again"


@dataclass(frozen=True, slots=True)
class Step:
    """The answer to a match. ``depth``: brackets open behind it. ``problem``: why the ended block is no call; None: it is
    read."""

    action: Action
    mode: str
    depth: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Mode:
    """What matters in one place of a text.

    ``delimiters``: literals that a cut may divide. They share their first character, which occurs in none of them a
    second time, and ``pattern`` prefers them to anything else that begins with it. Text at the end of a token that
    may still become one is held back until the next token comes.
    """

    pattern: re.Pattern[str]
    delimiters: tuple[str, ...] = ()
    longest: int = field(init=False)

    def __post_init__(self) -> None:
        """Measure once."""
        object.__setattr__(self, "longest", max(map(len, self.delimiters), default=0))

    def held_from(self, buffer: str, seek: int) -> int:
        """Where the end of ``buffer`` begins that the next token may turn into a delimiter; its length: nowhere."""
        if not self.delimiters:
            return len(buffer)
        start = buffer.rfind(self.delimiters[0][0], max(seek, len(buffer) - self.longest + 1))
        return start if start >= 0 and self.is_begun(buffer, start) else len(buffer)

    def is_begun(self, buffer: str, start: int) -> bool:
        """Whether ``buffer`` from ``start`` to its end is the beginning of a delimiter, and not all of it."""
        size = len(buffer) - start
        return size < self.longest and any(
            size < len(whole) and buffer.endswith(whole[:size]) for whole in self.delimiters
        )


STRING = Mode(re.compile(r'["\x00-\x1f]|\\[^\x00-\x1f]'), ('\\"',))
"""Inside a JSON string: its end, what may not stand in it, and escapes, of which a cut may divide each."""


class Grammar(Protocol):
    """A format. ``start`` is the mode before the first character of a branch."""

    start: str

    def mode(self, name: str) -> Mode:
        """The mode of that name."""

    def met(self, mode: str, depth: int, found: str) -> Step:
        """What a match in a mode does."""

    def calls(self, spelled: str, ordinal: int) -> tuple[Call, ...] | None:
        """The calls of an ended block, whose text from the first byte to the last is ``spelled``, numbered from ``ordinal``
        on. None: it is no block after all, but text."""


def in_string(found: str, back: str, depth: int, string: str) -> Step:
    """The step for a match in a JSON string of the mode ``string``, which ends into the mode ``back``."""
    if found == '"':
        return Step(Action.GO, back, depth)
    if found.startswith("\\"):
        return Step(Action.GO, string, depth)
    return Step(Action.END, TEXT, problem="control_character_in_string")
