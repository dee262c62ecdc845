"""Ending on a signal: each one that asks for an end becomes an exception, so that everything opened is closed."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end the block; while it is being left, further ones are not heard.

    SIGINT raises ``KeyboardInterrupt``, the others ``typer.Exit`` with 128 + the signal's number. What is
    opened inside has to be closed inside, see ``deaf``.
    """
    before = {number: signal.signal(number, _raise) for number in ASKING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def deaf() -> None:
    """Hear no further request to end: the end has begun."""
    for number in ASKING:
        signal.signal(number, signal.SIG_IGN)


def _raise(number: int, _frame: FrameType | None) -> None:
    deaf()
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise typer.Exit(128 + number)
