"""File locks: what a killed process holds, the kernel releases."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_S = 0.02


class LockFile:
    """One hold on a lock file (flock), not inherited by programs that this process starts."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open the file, unlocked; raises OSError where it cannot be opened."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
        self._fd = os.open(path, flags, 0o600)
        self._pid = os.getpid()

    def try_shared(self) -> bool:
        """Hold it together with others; False where somebody holds it alone."""
        return self._try(fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Hold it alone; False where anybody else holds it."""
        return self._try(fcntl.LOCK_EX)

    def shared_by(self, deadline: float) -> bool:
        """As try_shared, tried until `deadline` (time.monotonic)."""
        return self._poll(fcntl.LOCK_SH, deadline)

    def exclusive_by(self, deadline: float) -> bool:
        """As try_exclusive, tried until `deadline` (time.monotonic)."""
        return self._poll(fcntl.LOCK_EX, deadline)

    def unlock(self) -> None:
        """Give the hold up and keep the file open."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the hold up and close the file; a forked child closes its copy only."""
        if self._fd < 0:
            return
        if os.getpid() == self._pid:
            self.unlock()
        os.close(self._fd)
        self._fd = -1

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _poll(self, kind: int, deadline: float) -> bool:
        while not self._try(kind):
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        return True


@contextmanager
def opened(path: Path) -> Iterator[LockFile]:
    """A lock file, unlocked, closed at the end of the block."""
    lock = LockFile(path)
    try:
        yield lock
    finally:
        lock.close()


def is_held(path: Path) -> bool:
    """Whether some process holds the lock alone at this moment."""
    try:
        lock = LockFile(path, create=False)
    except FileNotFoundError:
        return False
    try:
        return not lock.try_shared()
    finally:
        lock.close()
