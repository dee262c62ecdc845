"""The tool's own log: what it received, on disk before it answers; the side that nobody can talk away."""

import json
import os
import threading
from collections import Counter
from pathlib import Path

from tests.gateway.toolserver import Exchange, ok

SLOW = "slow"
"""A call whose ``key`` begins so is answered only once ``let_go`` is called."""


class ToolLog:
    """A behaviour of ``ToolServer``: logs each request, waits for the disk, answers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("ab")
        self._lock = threading.Lock()
        self._gate = threading.Event()

    def __call__(self, exchange: Exchange) -> None:
        received = exchange.received
        key = json.loads(received.body)["key"]
        line = {
            "commit_key": received.headers["commit-key"],
            "intent": received.headers["intent-id"],
            "key": key,
        }
        with self._lock:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        if key.startswith(SLOW):
            self._gate.wait(60)
        ok({"done": key})(exchange)

    def let_go(self) -> None:
        self._gate.set()

    @property
    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def sent(self) -> Counter[str]:
        """How often each intent was received."""
        return Counter(line["intent"] for line in self.lines)

    def slow(self) -> list[str]:
        """The intents whose answer was or is held back."""
        return [line["intent"] for line in self.lines if line["key"].startswith(SLOW)]

    def close(self) -> None:
        self.let_go()
        self._file.close()
