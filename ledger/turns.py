"""Turns of the threads of one process on a stream: those who would only find each other faster wait instead."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock


class Turns:
    """A lock for each name that somebody holds or waits for, and for no other."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._locks: dict[Hashable, tuple[Lock, int]] = {}

    @contextmanager
    def turn(self, name: Hashable, *, within: float) -> Iterator[None]:
        """Wait for the turn on ``name``, at most ``within`` seconds; then go on without it."""
        with self._guard:
            lock, users = self._locks.get(name, (Lock(), 0))
            self._locks[name] = (lock, users + 1)
        mine = lock.acquire(timeout=within)
        try:
            yield
        finally:
            if mine:
                lock.release()
            with self._guard:
                lock, users = self._locks[name]
                if users == 1:
                    del self._locks[name]
                else:
                    self._locks[name] = (lock, users - 1)
