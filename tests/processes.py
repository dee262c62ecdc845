"""Real processes for tests: the gateway, dispatchers, tool servers. Each says on its first line that it is ready.

Whoever starts one ends it: every process here is a context manager, and leaving it leaves nothing running.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0
"""Seconds until a process that says nothing has failed."""

_COMMAND = "from gateway.cli.main import run; run()"
_numbers = count(1)


class Process:
    """A child that prints one JSON object as its first line once it can be used: ``ready``."""

    def __init__(
        self, command: Sequence[str], folder: Path, name: str, environ: Mapping[str, str] | None = None
    ) -> None:
        """What it says is kept in ``folder``, in files that begin with ``name``. AssertionError if it does not get ready."""
        said = f"{name}-{next(_numbers)}"
        self.out, self.errors = folder / f"{said}.out", folder / f"{said}.err"
        # Files and not pipes: a pipe that nobody empties would hold it up.
        with self.out.open("wb") as out, self.errors.open("wb") as errors:
            self._child = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )
        try:
            self.ready = self._first_line()
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._child.poll() is None

    def kill(self) -> None:
        """End it by SIGKILL, with everything that it started, and reap it. It may be dead already."""
        if self.alive:
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()

    def end(self, within: float = PATIENCE) -> int:
        """Ask it to end by SIGTERM; its exit code. Killed if it does not."""
        self._child.terminate()
        try:
            return self._child.wait(within)
        finally:
            self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.kill()

    def _first_line(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while True:
            running = self.alive
            first, end, _ = self.out.read_bytes().partition(b"\n")
            if end:
                said: dict[str, Any] = json.loads(first)
                return said
            if not running or time.monotonic() > deadline:
                raise AssertionError(
                    f"it did not get ready: {self.errors.read_text(errors='replace')[-4000:]}"
                )
            time.sleep(0.01)


def commitgate(*arguments: str) -> list[str]:
    """The command line of the product, by this interpreter."""
    return [sys.executable, "-c", _COMMAND, *arguments]


def gateway(folder: Path, environ: Mapping[str, str], *options: str) -> Process:
    """``commitgate serve`` on a free port; ``ready["listening"]`` is its URL."""
    return Process(commitgate("serve", "--port", "0", *options), folder, "gateway", environ)


def dispatcher(folder: Path, environ: Mapping[str, str]) -> Process:
    """``commitgate worker``; ``ready["dispatching"]`` is its name in the ledger."""
    return Process(commitgate("worker"), folder, "dispatcher", environ)
