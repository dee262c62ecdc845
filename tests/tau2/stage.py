"""The processes of a replay: the recording server, the gateway and its dispatchers, over one database."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import processes
from tests.processes import Process
from tests.tau2.log import Log


@dataclass
class Stage:
    """What is running. The gateway and each dispatcher can be killed, and begun anew."""

    folder: Path
    environ: Mapping[str, str]
    server: Process
    gateway: Process
    dispatchers: list[Process] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """Where the tools answer."""
        return str(self.server.ready["origin"])

    @property
    def url(self) -> str:
        """Where the gateway listens now."""
        return str(self.gateway.ready["listening"])

    @property
    def log_path(self) -> Path:
        return self.folder / "tools.jsonl"

    def log(self) -> Log:
        return Log(self.log_path)

    def new_gateway(self) -> Process:
        """In place of one that was killed."""
        self.gateway = processes.gateway(self.folder, self.environ, "--no-dispatch")
        return self.gateway

    def new_dispatcher(self) -> Process:
        self.dispatchers.append(processes.dispatcher(self.folder, self.environ))
        return self.dispatchers[-1]

    def run(self, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
        """One command of the product: (exit code, the JSON lines that it printed)."""
        done = subprocess.run(
            processes.commitgate(*arguments, "--format", "json"),
            cwd=processes.ROOT,
            env={**os.environ, **self.environ},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode in (0, 3), f"{arguments}: {done.stderr}"
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def reconcile(self) -> tuple[int, list[dict[str, Any]]]:
        """``commitgate reconcile run`` with the server's log as the third side."""
        return self.run("reconcile", "run", "--tool-log", str(self.log_path), "--complete")


@contextmanager
def stage(
    folder: Path, database_url: str, *server_options: str, dispatchers: int = 1, **settings: str
) -> Iterator[Stage]:
    """Everything running; nothing is left of it afterwards. ``settings``: as COMMITGATE_ variables."""
    environ = {f"COMMITGATE_{name.upper()}": value for name, value in settings.items()}
    environ["COMMITGATE_DATABASE_URL"] = database_url
    environ["COMMITGATE_HOME"] = str(folder)
    log = folder / "tools.jsonl"
    log.touch()
    command = [sys.executable, "-m", "tests.tau2.server", "--log", str(log), *server_options]
    with Process(command, folder, "tools") as server:
        gateway = processes.gateway(folder, environ, "--no-dispatch")
        running = Stage(folder, environ, server, gateway)
        try:
            for _ in range(dispatchers):
                running.new_dispatcher()
            yield running
        finally:
            running.gateway.kill()
            for dispatcher in running.dispatchers:
                dispatcher.kill()
