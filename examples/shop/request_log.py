"""What the shop was asked and what came of it: an append-only file of JSON lines, on disk before any act.

Two lines for a request, tied by ``n`` (1, 2, 3, ... in order of arrival, on over restarts)::

    {"line": "received", "n", "at", "tool", "commit_key", "intent_id", "idempotency_key", "traceparent",
     "arguments"}
    {"line": "handled", "n", "at", "tool", "status", "effect", "replayed", "error", "answer"}

``arguments`` is the body's text as it came (bytes that are no UTF-8 become backslash escapes). ``effect``:
the shop's data changed for this request; the line is written right after that change's commit. A ``received``
without its ``handled`` was cut off.
``at``: seconds since 1970.
"""

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One request as received; absent headers are None."""

    tool: str
    commit_key: str | None
    intent_id: str | None
    idempotency_key: str | None
    traceparent: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the shop answered. ``replayed``: answered from a kept answer, nothing done again."""

    status: int
    answer: dict[str, object]
    effect: bool = False
    replayed: bool = False


class RequestLog:
    """The log's only writer. Each line is flushed and fsynced before the call returns."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        """Go on with the file at ``path``, or begin it."""
        _end_torn_line(path)
        self._last = max((int(line["n"]) for line in read_log(path)), default=0)
        self._file = path.open("ab", buffering=0)
        self._clock = clock
        self._lock = threading.Lock()

    def received(self, request: Request) -> int:
        """Write down that ``request`` came; its number."""
        with self._lock:
            self._last += 1
            self._append(
                {
                    "line": "received",
                    "n": self._last,
                    "at": self._clock(),
                    "tool": request.tool,
                    "commit_key": request.commit_key,
                    "intent_id": request.intent_id,
                    "idempotency_key": request.idempotency_key,
                    "traceparent": request.traceparent,
                    "arguments": request.body.decode("utf-8", "backslashreplace"),
                }
            )
            return self._last

    def handled(self, n: int, tool: str, outcome: Outcome) -> None:
        """Write down what came of request ``n``."""
        with self._lock:
            self._append(
                {
                    "line": "handled",
                    "n": n,
                    "at": self._clock(),
                    "tool": tool,
                    "status": outcome.status,
                    "effect": outcome.effect,
                    "replayed": outcome.replayed,
                    "error": outcome.answer.get("error"),
                    "answer": outcome.answer,
                }
            )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, line: dict[str, object]) -> None:
        self._file.write(json.dumps(line).encode() + b"\n")
        os.fsync(self._file.fileno())


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of the log at ``path``, oldest first; none if no file; a torn last one is left out."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n") and line != b"\n":
                yield json.loads(line)


def _end_torn_line(path: Path) -> None:
    """Cut off the half line that a crash in the middle of a write leaves: the next would be glued to it."""
    if not path.exists():
        return
    whole = path.read_bytes()
    if whole and not whole.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(whole.rfind(b"\n") + 1)
