"""Shows a demonstration as lines of JSON: every ledger event, what the demonstration does, at the end the summary.

Each line has a ``type``: the ledger's own (with the ``commit_key`` beside it), or ``demo.stage``, ``demo.turn``,
``demo.message``, ``demo.finding``; the last line is ``{"type": "demo.summary", ...}``.
"""

import threading
from typing import TYPE_CHECKING

from gateway.cli.output import write_line
from gateway.demo.api import Json
from gateway.demo.show import Heading, MessageHeading

if TYPE_CHECKING:
    from decoding.progress import LoopEvent
    from gateway.demo.summary import Summary
    from ledger.reconcile.finding import Finding


class JsonLines:
    """A ``Show`` on standard output."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key = ""

    def stage(self, text: str) -> None:
        """See ``Show``."""
        self._write({"type": "demo.stage", "stage": text})

    def turn(self, heading: Heading) -> None:
        """See ``Show``."""
        told = {"turn": heading.number, "of": heading.of, "kind": heading.kind, "ask": heading.ask}
        self._write({"type": "demo.turn", **told})

    def message(self, heading: MessageHeading) -> None:
        """See ``Show``."""
        self._key = heading.key
        told = {"role": heading.role, "drafter": heading.drafter, "window": heading.window}
        self._write({"type": "demo.message", "commit_key": heading.key, **told})

    def loop(self, event: "LoopEvent") -> None:
        """Says nothing: the ledger's events say the same."""

    def ledger(self, event: Json) -> None:
        """See ``Show``."""
        self._write({"commit_key": self._key, **event})

    def message_ended(self) -> None:
        """Says nothing: ``stream.finished`` and the last ``intent.final`` say it."""

    def finding(self, finding: "Finding") -> None:
        """See ``Show``."""
        self._write({"type": "demo.finding", **finding.to_json()})

    def summary(self, summary: "Summary") -> None:
        """See ``Show``."""
        self._write({"type": "demo.summary", **summary.to_json()})

    def close(self) -> None:
        """Nothing is left open."""

    def _write(self, line: Json) -> None:
        with self._lock:
            write_line(line)
