"""Servers that a killed guardian left behind, and the pid file that names none of them.

On Linux the kernel ends a server with its guardian; the server then takes a moment, which the next guardian
waits out here. Called only by a guardian that holds its lock: no server of this data has an owner then.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from gateway.embedded.account import ServerAccount
from gateway.embedded.binaries import Binaries
from gateway.embedded.errors import ServerStartError

PROC = Path("/proc")
PATIENCE_S = 5.0


def postmasters(data: Path) -> list[int]:
    """The servers that run on this data, by their command lines: a pid may have been reused."""
    found = []
    for entry in PROC.glob("[0-9]*/cmdline"):
        try:
            argv = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.path.basename(argv[0]) == b"postgres" and os.fsencode(data) in argv:
            found.append(int(entry.parent.name))
    return found


def clear(data: Path, account: ServerAccount, binaries: Binaries) -> None:
    """Wait for an orphaned server to end, then make it; take away a pid file that names another process.

    Raises ServerStartError where it stays.
    """
    if not (PROC / "self").exists():
        if (data / "postmaster.pid").exists():
            account.run([binaries["pg_ctl"], "-D", data, "-m", "immediate", "stop"])
        return
    for number in (None, signal.SIGQUIT, signal.SIGKILL):
        left = postmasters(data)
        for pid in left if number is not None else ():
            _kill(pid, number)
        if _gone(data):
            _drop_stale_pid_file(data / "postmaster.pid")
            return
    raise ServerStartError(f"a server that nobody owns still runs on {data}: {postmasters(data)}")


def _gone(data: Path) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while postmasters(data):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _kill(pid: int, number: signal.Signals | None) -> None:
    try:
        os.kill(pid, number or 0)
    except ProcessLookupError:
        return


def _drop_stale_pid_file(path: Path) -> None:
    """Postgres refuses to start while the pid in its file lives, also when that is another program."""
    try:
        os.kill(int(path.read_text(encoding="ascii").split()[0]), 0)
    except PermissionError:
        pass
    except (OSError, ValueError, IndexError):
        return
    path.unlink(missing_ok=True)
