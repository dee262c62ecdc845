"""A hosted message on a stream: what the adapter says is checked by the wire's own shapes and decided by the gateway."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from effects.intent import BlockState
from gateway.hosted import TokenEvent
from gateway.hosted.adapter import HostedStream
from gateway.hosted.spelling import unescaped
from gateway.wire.tokens import WriteEvents
from ledger.state import Intent
from tests.gateway.turn.desk import Desk

Event = Mapping[str, Any]
Call = tuple[str | None, str | None]
STREAMS = Path(__file__).parent / "streams"


def stream(name: str) -> list[Event]:
    """The events of a stream that is kept."""
    return [json.loads(line) for line in (STREAMS / f"{name}.jsonl").read_text("utf-8").splitlines()]


class Heard:
    """One message of ``adapter`` on a stream decided in memory."""

    def __init__(self, adapter: HostedStream) -> None:
        self.desk = Desk()
        self.adapter = adapter

    def feed(self, events: Iterable[Event]) -> "Heard":
        for event in events:
            self._write(self.adapter.feed(event))
        return self

    def finish(self, message: Event | None = None) -> "Heard":
        self._write(self.adapter.finish(message))
        return self

    def broken(self) -> "Heard":
        self._write(self.adapter.broken())
        return self

    def give_up(self, reason: str = "error") -> "Heard":
        self._write(self.adapter.give_up(reason))
        return self

    @property
    def text(self) -> str:
        """What is accepted."""
        return self.desk.state.branches["main"].text

    @property
    def said(self) -> str:
        """What the model said: accepted text without blocks."""
        return unescaped(text_without_blocks(self.text))

    @property
    def finished(self) -> str | None:
        return self.desk.state.finished

    @property
    def intents(self) -> list[Intent]:
        return sorted(self.desk.state.intents.values(), key=lambda intent: (intent.round, intent.place))

    @property
    def cleared(self) -> list[Call]:
        return [(i.tool, i.arguments_raw) for i in self.intents if i.block is BlockState.CLEARED]

    @property
    def undecided(self) -> list[Call]:
        return [(i.tool, i.arguments_raw) for i in self.intents if i.block is BlockState.UNDECIDED]

    @property
    def voided(self) -> list[Call]:
        return [(i.tool, i.arguments_raw) for i in self.intents if i.block is BlockState.VOIDED]

    def _write(self, events: list[TokenEvent]) -> None:
        if events:
            body = {"writer_epoch": self.desk.state.writer_epoch, "events": events}
            read = WriteEvents.model_validate_json(json.dumps(body))
            self.desk.write(*read.token_events())


def text_without_blocks(text: str) -> str:
    while (start := text.find("<tool_call>")) >= 0:
        end = text.find("</tool_call>", start)
        text = text[:start] + (text[end + len("</tool_call>") :] if end >= 0 else "")
    return text
