"""Ending on a signal: each one that asks for an end becomes an exception, so that everything opened is closed."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDINGS = (KeyboardInterrupt, SystemExit)
"""What a signal raises."""


class Ending:
    """Whether an end was asked for. Code that is interrupted may swallow what is raised; ``check`` raises it again."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._later = False

    @contextmanager
    def later(self) -> Iterator[None]:
        """Raise only where the block is left: inside, an exception would be swallowed or would leave a process behind."""
        self._later = True
        try:
            yield
        finally:
            self._later = False
        self.check()

    def check(self) -> None:
        """Raise what the signal raised, if one came."""
        if self._asked == signal.SIGINT:
            raise KeyboardInterrupt
        if self._asked is not None:
            raise SystemExit(128 + self._asked)

    def hear(self, number: int, _frame: FrameType | None) -> None:
        """The handler of these signals."""
        self._asked = number
        if not self._later:
            self.check()


@contextmanager
def ended_in_order() -> Iterator[Ending]:
    """Let SIGINT, SIGTERM and SIGHUP end the block: ``KeyboardInterrupt``, else ``SystemExit`` with 128 + the number.

    What is opened inside has to be closed inside, and ``deaf`` keeps that from being interrupted.
    """
    ending = Ending()
    before = {number: signal.signal(number, ending.hear) for number in ASKING}
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def deaf() -> None:
    """Hear no further request to end: the end has begun."""
    for number in ASKING:
        signal.signal(number, signal.SIG_IGN)
