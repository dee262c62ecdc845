"""The text of a message while it is decoded: what is accepted, what was rejected, what is only drafted."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from decoding.calls.hermes import HermesDetector, HermesState

ACCEPTED, OWN, REJECTED, DRAFTED = "green", "bold green", "red strike", "bright_black"
LONGEST_REJECTED = 48
"""Characters shown of one rejected tail."""


def printable(text: str) -> str:
    """``text`` with every control character but the line feed made visible, so that none reaches the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


class TextPane:
    """Feeds on texts of tokens. Also sees where a call block opens that is not closed yet."""

    def __init__(self) -> None:
        self._shown: list[tuple[str, str]] = []
        self._drafts = ""
        self._detector = HermesDetector()
        self._accepted: HermesState = self._detector.start()
        self._drafted: HermesState = self._accepted

    @property
    def open_block(self) -> int | None:
        """The position where a block is open now, drafts included."""
        return self._detector.open_at(self._drafted)

    def draft(self, texts: Sequence[str]) -> None:
        """Drafts that nobody has ruled on."""
        self._drafts = "".join(texts)
        self._drafted = self._fed(self._accepted, texts)

    def rule(self, accepted: Sequence[str], rejected: Sequence[str], own: str | None) -> None:
        """The ruling on the drafts."""
        self._accepted = self._fed(self._accepted, [*accepted, *([] if own is None else [own])])
        self._drafted, self._drafts = self._accepted, ""
        self._show("".join(accepted), ACCEPTED)
        self._show(_on_one_line("".join(rejected)), REJECTED)
        self._show(own or "", OWN)

    def text(self) -> Text:
        """What there is to see."""
        pieces = [*self._shown, (self._drafts, DRAFTED)]
        return Text.assemble(
            *((printable(piece), style) for piece, style in pieces if piece), overflow="fold"
        )

    def _show(self, text: str, style: str) -> None:
        if text:
            self._shown.append((text, style))

    def _fed(self, state: HermesState, texts: Iterable[str]) -> HermesState:
        for text in texts:
            state, _ = self._detector.feed(state, text)
        return state


def _on_one_line(text: str) -> str:
    flat = text.replace("\n", "⏎")
    return flat if len(flat) <= LONGEST_REJECTED else flat[: LONGEST_REJECTED - 1] + "…"
