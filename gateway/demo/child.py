"""A child process of the demonstration: it tells when it is ready, and it never outlives its parent."""

import json
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gateway.demo.errors import DemoFailed
from gateway.embedded.parentage import ended_with_parent

PATIENCE = 12.0
"""Seconds to end calmly, longer than the gateway lets running calls finish; after that it is killed."""
_LOOK = 0.02
_TAIL = 15


class Child:
    """A running process. Leaving the block ends it.

    It has a session of its own, so that a Ctrl-C reaches its parent alone, which ends it in order. Where the parent is
    killed, the kernel kills it too (Linux). Start it from a process with one thread.
    """

    def __init__(
        self, name: str, argv: Sequence[str], *, folder: Path, cwd: Path, env: Mapping[str, str]
    ) -> None:
        """Start it. What it prints goes to ``<folder>/<name>.out`` and ``<name>.log``. Raises ``DemoFailed``."""
        self.name = name
        self._out, self._log = folder / f"{name}.out", folder / f"{name}.log"
        try:
            with self._out.open("wb") as out, self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=log,
                    cwd=cwd,
                    env=dict(env),
                    start_new_session=True,
                    preexec_fn=ended_with_parent(signal.SIGKILL),
                )
        except OSError as error:
            raise DemoFailed(f"the {name} cannot be started: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def first_line(self, timeout: float) -> dict[str, Any]:
        """The JSON object that it prints first. Raises ``DemoFailed`` where none comes within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            line, newline, _ = self._out.read_bytes().partition(b"\n")
            if newline:
                said = json.loads(line)
                if not isinstance(said, dict):
                    break
                return said
            self.check()
            time.sleep(_LOOK)
        raise DemoFailed(f"the {self.name} did not say that it is ready:\n{self.tail()}")

    def check(self) -> None:
        """Raise ``DemoFailed`` if it has ended."""
        ended = self._process.poll()
        if ended is not None:
            raise DemoFailed(f"the {self.name} ended with {ended}:\n{self.tail()}")

    def stop(self) -> None:
        """End it, calmly if it can; harmless when it has ended."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def tail(self) -> str:
        """The last that it said of what goes wrong."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_TAIL:]) or "(it said nothing)"
