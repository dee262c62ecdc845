"""The port through which a decoding loop writes what it drafted and what was ruled (design.md, Layout).

``gateway`` wires it to a ledger in process or to the HTTP API.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

TokenEvent = Mapping[str, object]
"""One token event in the wire form of interface.md ("Token events")."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Where a stream stands when a writer opens it: the writer goes on at ``head`` in ``round``.

    ``ids``: accepted token ids so far (length ``head``); ``text``: what they spell.
    """

    epoch: int
    head: int
    round: int
    ids: tuple[int, ...]
    text: str


class Ack(Protocol):
    """The promise of an answer to one submitted batch."""

    def result(self, timeout: float | None = None) -> int:
        """Wait for the batch to be durable; the stream's seq after it.

        Raises ``decoding.errors.SinkError`` if it was refused, ``TimeoutError`` if there is no answer within
        ``timeout`` seconds (0: do not wait; None: for ever).
        """


class EventSink(Protocol):
    """Takes token events in order.

    ``submit`` never waits for the ledger; a refused batch also refuses all later ones.
    """

    def open(self) -> Opened:
        """Open or take over the stream: earlier writers are fenced, undecided drafts are voided."""

    def submit(self, batch: Sequence[TokenEvent]) -> Ack:
        """Queue one batch, all or nothing, behind the batches submitted before."""
