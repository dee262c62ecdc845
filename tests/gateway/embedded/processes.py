"""Real user processes, and what is left of a server when they are gone."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Joined:
    """What a user says once it has joined."""

    service_url: str
    root: str
    guardian: int
    server: int
    version: str


class User:
    """One user process."""

    def __init__(self, home: Path, environ: Mapping[str, str] | None = None, uid: int | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.gateway.embedded.user"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=REPOSITORY,
            env={**os.environ, "USER_HOME": str(home), **(environ or {})},
            start_new_session=True,
            user=uid,
            extra_groups=None if uid is None else [],
        )

    def hear(self) -> dict[str, Any]:
        """The next line that it says."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.process.kill()
            raise AssertionError(f"the user said nothing: {self.process.stderr.read().decode()}")
        said: dict[str, Any] = json.loads(line)
        return said

    def joined(self) -> Joined:
        return Joined(**self.hear())

    def ask(self, order: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n".encode())
        self.process.stdin.flush()
        return self.hear()

    def queries(self) -> bool:
        return self.ask("query") == {"answer": [42]}

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)

    def end(self) -> None:
        """Collect what is left of it."""
        self.process.kill()
        self.process.communicate()


def processes_of(root: str | Path) -> list[int]:
    """The guardians and servers whose command lines name this data folder; a zombie has no command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(root) in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def eventually(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def nothing_left(root: str | Path, timeout_s: float = 10.0) -> bool:
    """Whether guardian and server of this data folder are gone in time."""
    return eventually(lambda: not processes_of(root), timeout_s)
