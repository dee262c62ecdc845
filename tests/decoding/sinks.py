"""A sink in memory that is as strict as the stream of interface.md, ``Token events``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from decoding.errors import SinkError
from decoding.sink import Opened, TokenEvent


@dataclass
class MemoryAck:
    seq: int
    answered: Callable[[int], bool]
    error: SinkError | None = None

    def result(self, timeout: float | None = None) -> int:
        if not self.answered(self.seq):
            if timeout is None:
                raise AssertionError("the loop waits for ever for an answer that this test withholds")
            raise TimeoutError
        if self.error is not None:
            raise self.error
        return self.seq


@dataclass
class MemorySink:
    """``refuse_at``: the batch (from 0) that is refused. ``answers``: how many batches have been answered; None: all."""

    refuse_at: int | None = None
    answers: int | None = None
    epoch: int = 0
    round: int = 0
    ids: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    pending: list[dict[str, object]] = field(default_factory=list)
    finished: str | None = None
    events: list[TokenEvent] = field(default_factory=list)
    batches: int = 0
    refused: SinkError | None = None

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def open(self) -> Opened:
        self.epoch += 1
        if self.pending:
            self.pending.clear()
            self.round += 1
        return Opened(self.epoch, len(self.ids), self.round, tuple(self.ids), self.text)

    def submit(self, batch: Sequence[TokenEvent]) -> MemoryAck:
        number = self.batches
        self.batches += 1
        if number == self.refuse_at:
            self.refused = SinkError("a newer writer has the stream", code="stale_writer")
        if self.refused is None:
            try:
                for event in batch:
                    self._take(event)
            except SinkError as error:
                self.refused = error
        return MemoryAck(number, lambda n: self.answers is None or n < self.answers, self.refused)

    def _take(self, event: TokenEvent) -> None:
        require(self.finished is None, "stream_finished")
        kind = event["type"]
        if kind == "stream.finished":
            self.finished = str(event["reason"])
        else:
            require(event["round"] == self.round, "wrong_round")
            {"tokens.drafted": self._draft, "tokens.ruled": self._rule, "tokens.accepted": self._accept}[
                kind
            ](event)
        self.events.append(event)

    def _draft(self, event: TokenEvent) -> None:
        require(event["start"] == len(self.ids) + len(self.pending), "wrong_start")
        require(bool(event["tokens"]), "nothing_drafted")
        for token in event["tokens"]:
            require(isinstance(token["text"], str) and "\0" not in token["text"], "bad_text")
            require(bool(token["drafter"]), "no_drafter")
            self.pending.append(token)

    def _rule(self, event: TokenEvent) -> None:
        size = event["end"] - event["start"]
        require(event["start"] == len(self.ids), "wrong_start")
        require(0 <= size <= len(self.pending), "wrong_end")
        require(0 <= event["accepted"] <= size, "wrong_accepted")
        # This loop rules on everything that is pending, so a part of it would be a fault of its own.
        require(size == len(self.pending) and size > 0, "partial_ruling")
        for token in self.pending[: event["accepted"]]:
            self._append(token)
        self.pending.clear()
        if event["accepted"] < size:
            self.round += 1
            require("token" in event, "cut_without_token")
        if "token" in event:
            self._append(event["token"])

    def _accept(self, event: TokenEvent) -> None:
        require(not self.pending, "drafts_pending")
        for token in event["tokens"]:
            self._append(token)

    def _append(self, token: dict[str, object]) -> None:
        self.ids.append(token["id"])
        self.texts.append(token["text"])


def require(holds: bool, code: str) -> None:
    if not holds:
        raise SinkError(code, code=code)
