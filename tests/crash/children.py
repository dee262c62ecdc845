"""The processes of tools that dispatchers start themselves, as a test holds them: killed, awaited, known to be quiet."""

import fcntl
import os
import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from tests.crash.world import DIED, DIES_AT, PRESENT
from tests.gateway.toolserver import eventually
from tests.processes import PATIENCE

STARTING = 20.0
"""Seconds within which a process that is started makes itself known, on a busy machine."""


class Children:
    """Those that made themselves known in ``folder``. ``dispatchers``: the numbers of those who live."""

    alive = True
    """Whoever needs one starts it."""

    def __init__(self, folder: Path, dispatchers: Callable[[], Collection[int]]) -> None:
        self._folder = folder
        self._dispatchers = dispatchers

    def kill(self) -> None:
        """End all that a living dispatcher has, by SIGKILL. AssertionError where there are none: nobody would be hit."""
        for pid in eventually(self._mine, within=STARTING):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            eventually(partial(_gone, pid), within=PATIENCE)

    def await_death(self, within: float = PATIENCE) -> None:
        """Wait until one of them has met the point where it was to die."""
        eventually(lambda: not (self._folder / DIES_AT).exists(), within=within)
        pid = int((self._folder / DIED).read_text())
        eventually(partial(_gone, pid), within=within)

    def quiet(self, within: float = PATIENCE) -> None:
        """Wait until nothing that reached them is still to be done: who has no dispatcher any more ends, who has one rests."""

        def over() -> bool:
            living = self._dispatchers()
            return all(parent in living and not self._busy(pid, parent) for pid, parent in self._present())

        eventually(over, within=within)

    def _mine(self) -> list[int]:
        living = self._dispatchers()
        return [pid for pid, parent in self._present() if parent in living]

    def _present(self) -> Iterator[tuple[int, int]]:
        for path in (self._folder / PRESENT).glob("*-*"):
            pid, parent = map(int, path.name.split("-"))
            if _gone(pid):
                path.unlink(missing_ok=True)
            else:
                yield pid, parent

    def _busy(self, pid: int, parent: int) -> bool:
        try:
            held = os.open(self._folder / PRESENT / f"{pid}-{parent}", os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(held)
        return False


def _gone(pid: int) -> bool:
    """Whether the process has ended, also where nobody has asked for its end yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"
