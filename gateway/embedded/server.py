"""The server process: started as a child, ended with it, stopped in order."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from gateway.embedded.account import bare_environment
from gateway.embedded.binaries import Binaries
from gateway.embedded.datafolder import DataFolder
from gateway.embedded.errors import BadSettingError, ServerStartError, StartTimeoutError, log_tail
from gateway.embedded.parentage import ended_with_parent
from gateway.embedded.socketdir import PORT

LOG_LIMIT = 10_000_000
NAME = re.compile(r"[a-z_][a-z0-9_.]*")
OWNED = frozenset({"listen_addresses", "unix_socket_directories", "port", "data_directory"})
DEFAULTS: Mapping[str, str] = {
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "512MB",
    "jit": "off",
    "log_checkpoints": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


class Server:
    """One running `postgres`, a child of this process that the kernel ends with it (Linux)."""

    def __init__(
        self, folder: DataFolder, binaries: Binaries, socket_dir: Path, settings: Mapping[str, str]
    ) -> None:
        """Start it; raises ServerStartError if it cannot be run, BadSettingError for a setting's name."""
        self._folder = folder
        argv = [str(binaries["postgres"]), "-D", str(folder.data)]
        for name, value in arguments(socket_dir, settings).items():
            argv += ["-c", f"{name}={value}"]
        try:
            with _log(folder.server_log) as log:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env=bare_environment(),
                    user=folder.account.user,
                    group=folder.account.group,
                    extra_groups=folder.account.extra_groups,
                    preexec_fn=ended_with_parent(signal.SIGQUIT),
                )
        except OSError as error:
            raise ServerStartError(f"{argv[0]} cannot be run: {error.strerror}") from error

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        return self._process.pid

    def ended(self) -> bool:
        """Whether the server is no more."""
        return self._process.poll() is not None

    def wait_ready(self, deadline: float) -> None:
        """Return once it takes connections; ServerStartError or StartTimeoutError with the log's tail."""
        pid_file = self._folder.data / "postmaster.pid"
        while not _says_ready(pid_file, self.pid):
            if self.ended():
                raise ServerStartError(
                    f"the server ended with {self._process.returncode} before it was ready; the end of"
                    f" {self._folder.server_log}:\n{log_tail(self._folder.server_log)}"
                )
            if time.monotonic() > deadline:
                raise StartTimeoutError(
                    f"the server was not ready in time:\n{log_tail(self._folder.server_log)}"
                )
            time.sleep(0.01)

    def stop(self) -> None:
        """End it: in order and without waiting for clients, then harder where that does not help."""
        for number, patience_s in ((signal.SIGINT, 20.0), (signal.SIGQUIT, 6.0), (signal.SIGKILL, 6.0)):
            self._process.send_signal(number)
            try:
                self._process.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue
            return


def arguments(socket_dir: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """The server's settings; raises BadSettingError for a name that is none or that the launcher decides."""
    for name in settings:
        if not NAME.fullmatch(name) or name in OWNED:
            raise BadSettingError(
                f"{name!r} is not a setting that a caller of the embedded Postgres may give"
            )
    place = {
        "listen_addresses": "",
        "unix_socket_directories": str(socket_dir),
        "unix_socket_permissions": "0700",
        "port": str(PORT),
    }
    return {**DEFAULTS, **settings, **place}


def _log(path: Path) -> BinaryIO:
    """The log, opened for more; one that grew large makes room first."""
    if path.exists() and path.stat().st_size > LOG_LIMIT:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def _says_ready(pid_file: Path, pid: int) -> bool:
    """Line 1 of postmaster.pid is the server's pid, line 8 its state (what pg_ctl -w reads)."""
    try:
        lines = pid_file.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, UnicodeDecodeError):
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"
