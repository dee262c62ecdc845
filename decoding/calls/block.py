"""What a detector finds: call blocks and the calls in them (design.md, Words)."""

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a block.

    ``tool`` and ``arguments_raw`` are both None where the block does not parse; ``problem`` then says why (a
    stable code). Both are set together with a ``problem`` where the call parses but its arguments hold a
    value that is refused (a duplicate name, NaN, an integer out of range, a lone surrogate): the call is
    refused under its tool's name. ``arguments_raw`` is the exact substring of the text that spells the
    arguments object; where the format spells none in JSON it is ``built`` from the text by the detector.
    """

    ordinal: int
    tool: str | None
    arguments_raw: str | None
    problem: str | None = None
    built: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A closed call block.

    ``start``, ``end``: token span [start, end), minimal, delimiters included. ``byte_start``, ``byte_end``:
    the same in bytes of the branch's UTF-8 text, from the opening delimiter's first byte through the closing
    delimiter's last.
    """

    start: int
    end: int
    byte_start: int
    byte_end: int
    calls: tuple[Call, ...]


S = TypeVar("S")


class Detector(Protocol, Generic[S]):
    """Finds blocks while text arrives token by token. States are values: feeding drafts never disturbs an
    older state.

    The blocks depend on the text alone, not on how it is cut into tokens; only token spans and ordinals
    follow the cut.
    """

    def start(self) -> S:
        """The state before the first token of a branch."""

    def feed(self, state: S, text: str) -> tuple[S, tuple[Block, ...]]:
        """Take the text of the next token (may be empty); the new state and the blocks that this token
        closes.

        A block that only its successor's opening delimiter ends is reported when that delimiter is complete:
        its ``end`` may then lie before this token.
        """

    def open_at(self, state: S) -> int | None:
        """Token position where a block is open in this state, or None."""
