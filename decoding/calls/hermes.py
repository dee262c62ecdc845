"""Call blocks in Hermes form: ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>`` (design.md, "call
block").

The text is scanned once. What cannot be judged yet - the beginning of a delimiter, a lone backslash - is held
back as the state's ``tail`` and looked at again together with the next token, so that the cut into tokens
never shows. Two problems end a block before its closing delimiter: ``control_character_in_string`` and
``opener_inside_block``; the others are those of its payload (``decoding.calls.payload``).
"""

import re
from dataclasses import dataclass, field, replace

from decoding.calls.block import Block, Call
from decoding.calls.payload import call_in, unparsable
from decoding.calls.text import GrowingText

OPENER = "<tool_call>"
CLOSER = "</tool_call>"

# What matters outside blocks, in a block outside strings, and in a string. All other text is passed over.
_OUTSIDE = re.compile(OPENER)
_BLOCK = re.compile(f'"|{OPENER}|{CLOSER}')
_STRING = re.compile(r'["\x00-\x1f]|\\[^\x00-\x1f]')


@dataclass(frozen=True, slots=True)
class OpenBlock:
    """A block whose end is not known yet. ``text`` is its payload so far; ``in_string``: inside a JSON
    string."""

    start: int
    byte_start: int
    ordinal: int
    in_string: bool = False
    text: GrowingText = field(default_factory=GrowingText)


@dataclass(frozen=True, slots=True)
class HermesState:
    """Where the scan of a branch stands.

    ``position``: tokens fed. ``byte``: bytes scanned, up to the tail. ``byte_token``: the token of the last
    of them (-1: none). ``tail``: text fed and not judged yet; ``tail_tokens``: the token of each of its
    characters. ``begun_in``, ``begun``: the token in which the latest block began, and how many began in it.
    """

    position: int = 0
    byte: int = 0
    byte_token: int = -1
    tail: str = ""
    tail_tokens: tuple[int, ...] = ()
    begun_in: int = -1
    begun: int = 0
    block: OpenBlock | None = None


class HermesDetector:
    """``Detector[HermesState]``: pure, and linear in the text over all. Text outside blocks, stray closers
    too, is ignored."""

    def start(self) -> HermesState:
        """The state before the first token of a branch."""
        return HermesState()

    def feed(self, state: HermesState, text: str) -> tuple[HermesState, tuple[Block, ...]]:
        """Take the text of the next token; the new state and the blocks whose end this token makes known."""
        scan = _Scan(state, text)
        scan.run()
        return scan.state(), tuple(scan.closed)

    def open_at(self, state: HermesState) -> int | None:
        """First token of the block that is open, or None; an opener seen in part is not open yet."""
        return None if state.block is None else state.block.start


class _Scan:
    """One feed: the old state's tail and the new token's text, from left to right. Lives no longer than the
    feed.

    ``_seek`` is how far the buffer has been looked at, ``_at`` how far it has been counted and kept; the
    second follows at delimiters and at the end, so that quotes and escapes cost a step each and no slice.
    """

    def __init__(self, state: HermesState, text: str) -> None:
        self._buffer = state.tail + text
        self._tail_tokens = state.tail_tokens
        self._token = state.position
        self._byte = state.byte
        self._byte_token = state.byte_token
        self._begun_in, self._begun = state.begun_in, state.begun
        self._block = state.block
        self._in_string = state.block is not None and state.block.in_string
        self._at = self._seek = 0
        self.closed: list[Block] = []

    def run(self) -> None:
        """Scan up to the tail, which only the next token can explain."""
        while (match := self._pattern().search(self._buffer, self._seek)) is not None:
            self._seek = match.end()
            found = match.group()
            if self._block is None:
                self._count(match.start())
                self._open()
            elif found == '"':
                self._in_string = not self._in_string
            elif found == OPENER:
                self._count(match.start())
                self._close(self._block, unparsable(self._block.ordinal, "opener_inside_block"))
                self._open()
            elif found == CLOSER:
                self._count(match.start())
                payload = self._block.text.joined()
                self._count(match.end())
                self._close(self._block, call_in(payload, self._block.ordinal))
            elif not found.startswith("\\"):
                self._count(match.end())
                self._close(self._block, unparsable(self._block.ordinal, "control_character_in_string"))
        self._count(self._tail_start())

    def state(self) -> HermesState:
        """The state after this token."""
        return HermesState(
            position=self._token + 1,
            byte=self._byte,
            byte_token=self._token_before(self._at),
            tail=self._buffer[self._at :],
            tail_tokens=tuple(self._token_before(i + 1) for i in range(self._at, len(self._buffer))),
            begun_in=self._begun_in,
            begun=self._begun,
            block=None if self._block is None else replace(self._block, in_string=self._in_string),
        )

    def _pattern(self) -> re.Pattern[str]:
        if self._block is None:
            return _OUTSIDE
        return _STRING if self._in_string else _BLOCK

    def _open(self) -> None:
        """Begin a block at ``_at``, where an opener stands, and step behind the opener."""
        start = self._token_before(self._at + 1)
        self._begun = self._begun + 1 if start == self._begun_in else 1
        self._begun_in = start
        byte_start = self._byte
        self._count(self._at + len(OPENER))
        self._block = OpenBlock(start, byte_start, ordinal=self._begun - 1)
        self._in_string = False

    def _close(self, block: OpenBlock, call: Call) -> None:
        """End the block before ``_at``."""
        end = self._token_before(self._at) + 1
        self.closed.append(Block(block.start, end, block.byte_start, self._byte, (call,)))
        self._block = None

    def _count(self, to: int) -> None:
        """Move ``_at``: count the bytes in between and keep them, if they are in a block."""
        piece = self._buffer[self._at : to]
        self._at = to
        # A lone surrogate has no UTF-8; it is counted as the three bytes it would take.
        self._byte += len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass"))
        if self._block is not None:
            self._block = replace(self._block, text=self._block.text.add(piece))

    def _token_before(self, index: int) -> int:
        """The token that holds the character before ``index`` of the buffer."""
        if index == 0:
            return self._byte_token
        return self._tail_tokens[index - 1] if index <= len(self._tail_tokens) else self._token

    def _tail_start(self) -> int:
        """Where the text begins that the next token may turn into a delimiter or an escape."""
        buffer = self._buffer
        if self._in_string and self._block is not None:
            return len(buffer) - 1 if buffer.endswith("\\", self._seek) else len(buffer)
        start = buffer.rfind("<", max(self._seek, len(buffer) - len(CLOSER) + 1))
        if start < 0:
            return len(buffer)
        rest = buffer[start:]
        possible = OPENER.startswith(rest) or (self._block is not None and CLOSER.startswith(rest))
        return start if possible else len(buffer)
