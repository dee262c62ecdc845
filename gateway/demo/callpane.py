"""The calls of a message and how far each has come, read from the ledger's events."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.table import Table
from rich.text import Text

from gateway.demo.api import Json
from gateway.demo.textpane import printable

CLASS_STYLE = {"READ_ONLY": "cyan", "IDEMPOTENT": "yellow", "WRITE": "bold yellow"}
LONGEST_CALL = 44
VOIDED_SHOWN = 2
"""Voided calls shown of each kind, sent early or never; the others are counted in one line."""
ARROW = (" → ", "bright_black")


@dataclass(slots=True)
class _Row:
    call: str
    effect: str
    steps: list[tuple[str, str]] = field(default_factory=list)
    voided: bool = False
    sent: bool = False


class CallPane:
    """Feeds on ledger events of one stream."""

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}

    def tell(self, event: Json) -> None:
        """Take note of one event; those that are about no call change nothing."""
        kind = str(event["type"])
        if kind == "block.cleared":
            for intent_id in event["intents"]:
                self._step(intent_id, "cleared", "green")
            return
        intent_id = event.get("intent_id")
        teller = _STEPS.get(kind)
        if intent_id is None or teller is None:
            return
        row = self._rows.get(intent_id)
        if row is None:
            row = self._rows[intent_id] = _Row(_spelled(event), str(event.get("effect", "")))
            row.steps.append(("held", "white"))
            return
        row.steps.append(teller(event))
        row.voided = row.voided or kind == "intent.voided"
        row.sent = row.sent or kind == "dispatch.started"

    def table(self, open_block: int | None) -> Table | None:
        """A line for each call, and one for a block that is still open; None if there is nothing to see."""
        if not self._rows and open_block is None:
            return None
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=LONGEST_CALL)
        table.add_column(no_wrap=True)
        table.add_column(ratio=1)
        shown, hidden = self._chosen()
        for row in shown:
            name = Text(row.call, "red strike" if row.voided else "bold")
            effect = Text(row.effect.removesuffix("_ONLY"), CLASS_STYLE.get(row.effect, ""))
            table.add_row(name, effect, _joined(row.steps))
        for story, count in hidden.items():
            more = Text(f"and {count} more drafted", "bright_black")
            table.add_row(more, Text(""), Text(story, "bright_black"))
        if open_block is not None:
            opening = Text(f"a block opens at token {open_block}", "bright_black")
            table.add_row(opening, Text(""), Text("not closed yet", "bright_black"))
        return table

    def _chosen(self) -> tuple[list[_Row], dict[str, int]]:
        """The rows to show, and of the others how many had which story."""
        shown: list[_Row] = []
        told = Counter[str]()
        for row in self._rows.values():
            story = "released early → voided" if row.sent else "held → voided"
            told[story] += row.voided
            if not row.voided or told[story] <= VOIDED_SHOWN:
                shown.append(row)
        return shown, {story: count - VOIDED_SHOWN for story, count in told.items() if count > VOIDED_SHOWN}

    def _step(self, intent_id: str, word: str, style: str) -> None:
        row = self._rows.get(intent_id)
        if row is not None:
            row.steps.append((word, style))


def _spelled(event: Json) -> str:
    """``tool value, value``, as far as it can be read."""
    tool = event.get("tool")
    if tool is None:
        return f"unparsable call ({event.get('problem')})"
    try:
        arguments = json.loads(event["arguments_raw"])
        values = ", ".join(str(value) for value in arguments.values())
    except (ValueError, AttributeError):
        values = str(event["arguments_raw"])
    return printable(f"{tool} {values}").replace("\n", " ")


def _joined(steps: list[tuple[str, str]]) -> Text:
    pieces: list[tuple[str, str]] = []
    for step in steps:
        pieces += [ARROW, step] if pieces else [step]
    return Text.assemble(*pieces)


def _released(event: Json) -> tuple[str, str]:
    early = event["release"] == "early"
    return ("released early", "cyan") if early else ("released", "green")


def _started(event: Json) -> tuple[str, str]:
    return ("sent", "white") if event["attempt"] == 1 else ("sent again", "magenta")


def _settled(event: Json) -> tuple[str, str]:
    if event["status"] == "ok":
        return "settled", "white"
    content = event.get("content")
    why = content.get("error") if isinstance(content, dict) else None
    return printable(f"settled: {why or event['status']}"), "yellow"


def _always(word: str, style: str) -> Callable[[Json], tuple[str, str]]:
    return lambda _event: (word, style)


_STEPS: dict[str, Callable[[Json], tuple[str, str]]] = {
    "intent.held": _always("held again", "white"),
    "intent.released": _released,
    "intent.refused": lambda event: (f"refused: {event['reason']}", "red"),
    "intent.voided": _always("voided", "red"),
    "intent.stale": _always("stale", "magenta"),
    "intent.final": _always("final", "bold green"),
    "dispatch.started": _started,
    "dispatch.settled": _settled,
    "dispatch.expired": _always("lost, may be sent again", "yellow"),
    "dispatch.in_doubt": _always("in doubt", "bold red"),
    "dispatch.resolved": _always("resolved", "yellow"),
    "dispatch.late": _always("answered late", "yellow"),
}
