"""What the tools of the crash tests do: they act by writing a line to a log, and wait for the disk before they answer.

Tools ``read``, ``put`` and ``write``, arguments ``{"key": ..., "nth": ...}``. A line is either of
these, in the order of the acts::

    {"line": "received", "intent_id", "tool", "key"}
    {"line": "acted", "intent_id", "commit_key", "tool", "key", "nth", "idempotency_key", "count", "replayed"}

``count``: how often the key was changed by then, which is also the answer. ``replayed``: a ``put`` whose idempotency key it
knew, so that nothing changed. How a key begins says how its first transmissions are treated (``MANNERS``).

Nothing but the standard library's light parts: processes that a dispatcher starts load this within its patience.
"""

import fcntl
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

SLOW, OVERDUE, RESET, RESETS = "slow", "overdue", "reset", "resets"
"""Answers late but in time; too late; breaks the connection after the act, once, or five times."""

MANNERS = {SLOW: 1, OVERDUE: 1, RESET: 1, RESETS: 5}
"""How many transmissions of an intent are treated so."""


class Pace(NamedTuple):
    """Seconds: that a tool may take, that it takes where it is slow, and where it is overdue."""

    timeout: float
    slow: float
    overdue: float


QUICK = Pace(0.4, 0.3, 0.6)
OF_STARTERS = Pace(1.0, 0.5, 1.3)
"""Where a call may have to wait for a process that loads the product's modules: for half of its timeout at most."""

LONGEST_PAUSE = 0.02
RECEIVED, ACTED, HALF_ANSWERED = "tool_received", "tool_acted", "tool_half_answered"
POINTS = (RECEIVED, ACTED, HALF_ANSWERED)

LOG, DIES_AT, DIED, PRESENT = "tool.jsonl", "dies-at", "died", "present"
"""In the folder that all processes of the tools share: the log; where one is to die; its number once it does; who lives."""


class Broken(Exception):
    """The connection ends here, without an answer."""


class World:
    """What the log in ``folder`` says, whoever wrote it: any number of processes act in one world."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counts: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._puts: dict[str, int] = {}
        self._read = 0
        self._lock = threading.Lock()
        self._file = os.open(folder / LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def receive(self, **line: Any) -> int:
        """How often this intent came by now."""
        with self._alone():
            self._write({"line": "received", **line})
            return self._seen[line["intent_id"]]

    def act(self, **line: Any) -> int:
        """Do it once a ``put``'s key, else as often as it is asked for; the key's count."""
        with self._alone():
            key, once = line["key"], line["idempotency_key"]
            replayed = line["tool"] == "put" and once in self._puts
            count = self._counts[key]
            if replayed:
                count = self._puts[once]
            elif line["tool"] != "read":
                count += 1
            self._write({"line": "acted", **line, "count": count, "replayed": replayed})
            return count

    def meet(self, point: str) -> None:
        """End this process by SIGKILL where ``DIES_AT`` says so: ``POINT:N``, as COMMITGATE_FAIL_AT, over all processes."""
        told = self._folder / DIES_AT
        if not told.exists():
            return
        with self._alone():
            name, _, left = told.read_text().partition(":") if told.exists() else ("", "", "")
            if name != point:
                return
            if int(left) > 1:
                told.write_text(f"{name}:{int(left) - 1}")
                return
            (self._folder / DIED).write_text(str(os.getpid()))
            told.unlink()
            end()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                self._catch_up()
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _catch_up(self) -> None:
        behind = os.fstat(self._file).st_size - self._read
        if behind:
            *lines, cut = os.pread(self._file, behind, self._read).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
            self._read += behind - len(cut)
            if cut:
                # Whoever began this line was killed over it, so nobody was answered.
                os.ftruncate(self._file, self._read)

    def _write(self, line: dict[str, Any]) -> None:
        spelled = json.dumps(line).encode() + b"\n"
        os.write(self._file, spelled)
        os.fsync(self._file)
        self._read += len(spelled)
        self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        if line["line"] == "received":
            self._seen[line["intent_id"]] += 1
        elif line["tool"] != "read" and not line["replayed"]:
            self._counts[line["key"]] = line["count"]
            if line["tool"] == "put":
                self._puts[line["idempotency_key"]] = line["count"]


def read_log(folder: Path) -> list[dict[str, Any]]:
    """All whole lines; the last may be cut by a kill."""
    path = folder / LOG
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return [json.loads(line) for line in lines[:-1]]


def end() -> None:
    """End this process by SIGKILL."""
    os.kill(os.getpid(), signal.SIGKILL)


class Acting:
    """Does one call as the manner of its key has it. Raises Broken where the connection is to break after the act."""

    def __init__(self, world: World, pace: Pace = QUICK) -> None:
        self._world = world
        self._pace = pace
        self._rand = random.Random(0)

    def __call__(
        self, tool: str, arguments: dict[str, Any], commit_key: str, intent_id: str, once: str | None
    ) -> dict[str, object]:
        key = str(arguments["key"])
        times = self._world.receive(intent_id=intent_id, tool=tool, key=key)
        self._world.meet(RECEIVED)
        time.sleep(self._rand.random() * LONGEST_PAUSE)
        count = self._world.act(
            intent_id=intent_id,
            commit_key=commit_key,
            tool=tool,
            key=key,
            nth=arguments.get("nth"),
            idempotency_key=once,
        )
        self._world.meet(ACTED)
        manner = key.partition("-")[0]
        if times <= MANNERS.get(manner, 0):
            if manner in (RESET, RESETS):
                raise Broken
            time.sleep(self._pace.slow if manner == SLOW else self._pace.overdue)
        return {"count": count}


class Present:
    """A process of a tool that a dispatcher started: there as long as its file is locked by nobody, busy while it is.

    The file is called by the process and by who started it: ``PID-PARENT``.
    """

    def __init__(self, folder: Path) -> None:
        place = folder / PRESENT
        place.mkdir(exist_ok=True)
        name = f"{os.getpid()}-{os.getppid()}"
        self._file = os.open(place / name, os.O_RDWR | os.O_CREAT, 0o600)
        self._lock = threading.Lock()
        self._calls = 0

    @contextmanager
    def busy(self) -> Iterator[None]:
        """A call is in hand."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            before, self._calls = self._calls, self._calls + more
            if not before or not self._calls:
                fcntl.flock(self._file, fcntl.LOCK_EX if self._calls else fcntl.LOCK_UN)
