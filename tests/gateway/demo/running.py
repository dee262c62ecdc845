"""A demonstration as a process, and everything that it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from tests import plain

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0
MARK = "COMMITGATE_TEST_MARK"
COMMAND = "from gateway.cli.main import run; run()"

Line = dict[str, Any]


@dataclass
class Demo:
    """One running demonstration. ``place``: its temporary folder, and whoever has it in the command line is its own."""

    process: subprocess.Popen[str]
    place: Path
    mark: str

    def lines_until(self, type_: str) -> list[Line]:
        """What it prints up to the first line of this type."""
        seen = []
        for text in self._out:
            seen.append(json.loads(text))
            if seen[-1]["type"] == type_:
                return seen
        assert self.process.stderr is not None
        raise AssertionError(f"no {type_}: {self.process.stderr.read()}")

    def rest(self) -> tuple[list[Line], str]:
        """Everything else that it prints, and what it says of errors; it has ended then."""
        out, err = self.process.communicate(timeout=PATIENCE_S * 4)
        return [json.loads(text) for text in out.splitlines()], err

    def left(self) -> dict[int, str]:
        """Processes that it started and that still run: those with its mark, or its place in the command line."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                environment = (folder / "environ").read_bytes().decode(errors="replace")
            except (OSError, ProcessLookupError):
                continue
            if command and (f"{MARK}={self.mark}" in environment or str(self.place) in command):
                found[int(folder.name)] = command
        return found

    def nothing_left(self, within: float) -> bool:
        """Whether all of them are gone in time."""
        deadline = time.monotonic() + within
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.left()

    def homes(self) -> list[Path]:
        """Homes that it left in its temporary folder; what others put there is not its affair."""
        return list(self.place.glob("commitgate-demo-*"))

    @property
    def _out(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout


@contextmanager
def running(*arguments: str) -> Iterator[Demo]:
    """``commitgate demo`` with its output piped, in a session of its own."""
    place = Path(tempfile.mkdtemp(prefix="cgdemo-"))
    place.chmod(0o755)
    mark = uuid4().hex
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COMMITGATE_")}
    environ |= plain.environ() if plain.wanted() else {}
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "demo", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env={**environ, "TMPDIR": str(place), "HOME": str(place), MARK: mark, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    demo = Demo(process, place, mark)
    try:
        yield demo
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(PATIENCE_S)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        demo.nothing_left(10)
        shutil.rmtree(place, ignore_errors=True)
