"""Processes forked by a zygote, as a test holds them: ready once they say so, and killed by SIGKILL."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from tests.processes import PATIENCE, ROOT

_numbers = count(1)


class Forked:
    """One process. ``ready``: the JSON object that it printed as its first line."""

    def __init__(self, pid: int, out: Path, errors: Path) -> None:
        self.pid = pid
        self._out = out
        self.errors = errors
        self._gone = False

    @property
    def alive(self) -> bool:
        self._gone = self._gone or not Path(f"/proc/{self.pid}").exists()
        return not self._gone

    def kill(self) -> None:
        """End it by SIGKILL and wait until it is gone; it may be dead already."""
        if self.alive:
            self.signal(signal.SIGKILL)
        self.await_death()

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def await_death(self, within: float = PATIENCE) -> None:
        deadline = time.monotonic() + within
        while self.alive:
            assert time.monotonic() < deadline, f"process {self.pid} lives after {within} s"
            time.sleep(0.002)

    def first_line(self) -> dict[str, Any]:
        """What it says once it can be used. AssertionError where it ends instead."""
        deadline = time.monotonic() + PATIENCE
        while True:
            alive = self.alive
            first, end, _ = self._out.read_bytes().partition(b"\n") if self._out.exists() else (b"", b"", b"")
            if end:
                said: dict[str, Any] = json.loads(first)
                return said
            told = self.errors.read_text(errors="replace")[-3000:] if self.errors.exists() else ""
            assert alive, f"it did not get ready: {told}"
            assert time.monotonic() < deadline, f"it does not get ready: {told}"
            time.sleep(0.005)


class Zygote:
    """Forks processes that have the product loaded. ``folder``: for what they say. Leaving it ends them all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._heard()

    def command(
        self, *arguments: str, environ: Mapping[str, str], planted: str | None = None, ready: bool = True
    ) -> Forked:
        """``commitgate ARGUMENTS``; with a planted bug where one is named."""
        return self._fork(arguments[0], ready, arguments=arguments, environ=environ, planted=planted)

    def tool(self, **options: Any) -> Forked:
        """``tests.crash.tool.serve(**options)``."""
        return self._fork("tool", True, environ={}, options=options)

    def _fork(self, what: str, ready: bool, **order: Any) -> Forked:
        with self._lock:
            forked = self._ordered(what, order)
        if ready:
            forked.first_line()
        return forked

    def _ordered(self, what: str, order: Mapping[str, Any]) -> Forked:
        assert self._child.stdin is not None
        said = self._folder / f"{what}-{next(_numbers)}"
        out, errors = said.with_suffix(".out"), said.with_suffix(".err")
        self._child.stdin.write(
            json.dumps({"what": what, "out": str(out), "err": str(errors), **order}) + "\n"
        )
        self._child.stdin.flush()
        return Forked(self._heard()["pid"], out, errors)

    def _heard(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        assert line, "the zygote ended"
        said: dict[str, Any] = json.loads(line)
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.communicate()
