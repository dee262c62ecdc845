"""Who watches what a process writes: for its metrics, never for its decisions."""

from typing import Protocol

from ledger.change import Appended


class Observer(Protocol):
    """Told of what is durable, in the thread that found out: it must be quick, and must neither block nor raise."""

    def appended(self, appended: Appended) -> None:
        """A change of one stream is written."""
        ...

    def grouped(self, appends: int) -> None:
        """So many appends went out together."""
        ...


class Nobody:
    """Watches nothing."""

    def appended(self, _appended: Appended) -> None:
        """Nothing."""

    def grouped(self, _appends: int) -> None:
        """Nothing."""


NOBODY = Nobody()
