"""Shows a demonstration on a terminal: tokens in colour as they are ruled, calls as far as they have come."""

import threading
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.rule import Rule
from rich.status import Status
from rich.table import Table
from rich.text import Text

from gateway.demo.api import Json
from gateway.demo.callpane import CallPane
from gateway.demo.show import Heading, MessageHeading
from gateway.demo.textpane import ACCEPTED, DRAFTED, OWN, REJECTED, TextPane

if TYPE_CHECKING:
    from decoding.progress import LoopEvent
    from gateway.demo.summary import Summary
    from ledger.reconcile.finding import Finding

LABEL = 12
REFRESHES = 15


class Screen:
    """A ``Show`` on a terminal. The message under way is drawn in place, and stays when it has ended."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._live: Live | None = None
        self._heading: MessageHeading | None = None
        self._text, self._calls = TextPane(), CallPane()

    def stage(self, text: str) -> None:
        """See ``Show``."""
        self._end_status()
        if self._console.is_terminal:
            self._status = Status(text, console=self._console)
            self._status.start()
        else:
            self._console.print(text)

    def turn(self, heading: Heading) -> None:
        """See ``Show``."""
        if heading.number == 1:
            self._end_status()
            self._console.print(_legend())
        title = f"turn {heading.number} of {heading.of}"
        self._console.print(Rule(Text(title, "bold"), align="left", style="bright_black"))
        self._console.print(_labelled("user", Text(heading.ask, "bold")))

    def message(self, heading: MessageHeading) -> None:
        """See ``Show``."""
        with self._lock:
            self._heading = heading
            self._text, self._calls = TextPane(), CallPane()
        self._live = Live(
            console=self._console,
            get_renderable=self._drawn,
            refresh_per_second=REFRESHES,
            transient=True,
        )
        self._live.start()

    def loop(self, event: "LoopEvent") -> None:
        """See ``Show``."""
        from decoding.progress import Accepted, Drafted, Ruled

        with self._lock:
            if isinstance(event, Drafted):
                self._text.draft([token.text for token in event.tokens])
            elif isinstance(event, Ruled):
                own = None if event.token is None else event.token.text
                self._text.rule([t.text for t in event.accepted], [t.text for t in event.rejected], own)
            elif isinstance(event, Accepted):
                self._text.rule([event.token.text], [], None)
        self._refresh()

    def ledger(self, event: Json) -> None:
        """See ``Show``."""
        with self._lock:
            self._calls.tell(event)

    def message_ended(self) -> None:
        """See ``Show``."""
        self._end_live()
        self._console.print(self._drawn())

    def finding(self, finding: "Finding") -> None:
        """See ``Show``."""
        self._end_status()
        self._console.print(Text(f"{finding.kind.value}: {finding.detail}", "bold red"))

    def summary(self, summary: "Summary") -> None:
        """See ``Show``."""
        from gateway.demo.report import report

        self._end_status()
        self._console.print(report(summary))

    def close(self) -> None:
        """See ``Show``."""
        self._end_live()
        self._end_status()

    def _drawn(self) -> RenderableType:
        with self._lock:
            if self._heading is None:
                return Text("")
            text, table = self._text.text(), self._calls.table(self._text.open_block)
            by = f"{self._heading.drafter}, {self._heading.window}"
        parts: list[RenderableType] = [_labelled("agent", text, by)]
        if table is not None:
            parts.append(Padding(table, (0, 0, 0, LABEL + 2)))
        return Group(*parts)

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def _end_live(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _end_status(self) -> None:
        status, self._status = self._status, None
        if status is not None:
            status.stop()


def _labelled(label: str, text: Text, under: str = "") -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=LABEL, justify="right")
    grid.add_column(ratio=1)
    name = Text(label, "bright_black")
    if under:
        name.append(f"\n{under}", "bright_black")
    grid.add_row(name, text)
    return grid


def _legend() -> Text:
    return Text.assemble(
        "tokens: ",
        ("drafted", DRAFTED),
        ", ",
        ("accepted", ACCEPTED),
        ", ",
        ("rejected", REJECTED),
        ", ",
        ("the target's own", OWN),
        ". Below each message: its calls, as the ledger has them.",
    )
