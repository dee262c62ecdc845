"""The scan that all formats share: text in tokens in, blocks with token and byte spans out.

The text is scanned once. What cannot be judged yet - the beginning of a delimiter, a lone backslash - is held
back as the state's ``tail`` and looked at again together with the next token, so that the cut into tokens
never shows.
"""

from dataclasses import dataclass, field, replace

from decoding.calls.block import Block, Call
from decoding.calls.grammar import TEXT, Action, Grammar, Step
from decoding.calls.payload import unparsable
from decoding.calls.text import GrowingText


@dataclass(frozen=True, slots=True)
class OpenBlock:
    """A block whose end is not known yet. ``text`` is what it spells so far, from its first byte."""

    start: int
    byte_start: int
    ordinal: int
    text: GrowingText = field(default_factory=GrowingText)


@dataclass(frozen=True, slots=True)
class ScanState:
    """Where the scan of a branch stands.

    ``mode``, ``depth``: the place in the grammar. ``position``: tokens fed. ``byte``: bytes scanned, up to the tail.
    ``byte_token``: the token of the last of them (-1: none). ``tail``: text fed and not judged yet; ``tail_tokens``:
    the token of each of its characters. ``begun_in``, ``begun``: the token in which the latest closed block began,
    and how many calls began in it.
    """

    mode: str
    depth: int = 0
    position: int = 0
    byte: int = 0
    byte_token: int = -1
    tail: str = ""
    tail_tokens: tuple[int, ...] = ()
    begun_in: int = -1
    begun: int = 0
    block: OpenBlock | None = None


class GrammarDetector:
    """``Detector[ScanState]`` of one grammar: pure, and linear in the text over all."""

    def __init__(self, grammar: Grammar) -> None:
        """The detector of what ``grammar`` describes."""
        self._grammar = grammar

    def start(self) -> ScanState:
        """The state before the first token of a branch."""
        return ScanState(self._grammar.start)

    def feed(self, state: ScanState, text: str) -> tuple[ScanState, tuple[Block, ...]]:
        """Take the text of the next token; the new state and the blocks whose end this token makes known."""
        scan = _Scan(self._grammar, state, text)
        scan.run()
        return scan.state(), tuple(scan.closed)

    def open_at(self, state: ScanState) -> int | None:
        """First token of the block that is open, or None; an opener seen in part is not open yet."""
        return None if state.block is None else state.block.start


class _Scan:
    """One feed: the old state's tail and the new token's text, from left to right. Lives no longer than the
    feed.

    ``_seek`` is how far the buffer has been looked at, ``_at`` how far it has been counted and kept; the
    second follows at delimiters and at the end, so that quotes and escapes cost a step each and no slice.
    """

    def __init__(self, grammar: Grammar, state: ScanState, text: str) -> None:
        self._grammar = grammar
        self._mode, self._depth = state.mode, state.depth
        self._buffer = state.tail + text
        self._tail_tokens = state.tail_tokens
        self._token = state.position
        self._byte = state.byte
        self._byte_token = state.byte_token
        self._begun_in, self._begun = state.begun_in, state.begun
        self._block = state.block
        self._at = self._seek = 0
        self.closed: list[Block] = []

    def run(self) -> None:
        """Scan up to the tail, which only the next token can explain."""
        mode = self._grammar.mode(self._mode)
        while (match := mode.pattern.search(self._buffer, self._seek)) is not None:
            if mode.is_begun(self._buffer, match.start()):
                break
            step = self._grammar.met(self._mode, self._depth, match.group())
            self._take(step, match.start(), match.end())
            mode = self._grammar.mode(self._mode)
        self._count(mode.held_from(self._buffer, self._seek))

    def state(self) -> ScanState:
        """The state after this token."""
        return ScanState(
            mode=self._mode,
            depth=self._depth,
            position=self._token + 1,
            byte=self._byte,
            byte_token=self._token_before(self._at),
            tail=self._buffer[self._at :],
            tail_tokens=tuple(self._token_before(i + 1) for i in range(self._at, len(self._buffer))),
            begun_in=self._begun_in,
            begun=self._begun,
            block=self._block,
        )

    def _take(self, step: Step, start: int, end: int) -> None:
        self._mode, self._depth = step.mode, step.depth
        again = step.action in (Action.LOOK_AGAIN, Action.END_BEFORE)
        self._seek = start if again else end
        if step.action is Action.BEGIN:
            self._count(start)
            self._open()
        elif step.action in (Action.END, Action.END_BEFORE) and self._block is not None:
            self._count(self._seek)
            self._close(self._block, step.problem)

    def _open(self) -> None:
        """Begin a block at ``_at``."""
        start = self._token_before(self._at + 1)
        ordinal = self._begun if start == self._begun_in else 0
        self._block = OpenBlock(start, self._byte, ordinal)

    def _close(self, block: OpenBlock, problem: str | None) -> None:
        """End the block before ``_at``."""
        self._block = None
        calls: tuple[Call, ...] | None = (unparsable(block.ordinal, problem),) if problem else None
        if calls is None:
            calls = self._grammar.calls(block.text.joined(), block.ordinal)
        if calls is None:
            self._mode = TEXT
            return
        end = self._token_before(self._at) + 1
        self.closed.append(Block(block.start, end, block.byte_start, self._byte, calls))
        self._begun_in, self._begun = block.start, block.ordinal + len(calls)

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
