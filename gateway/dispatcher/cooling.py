"""What could not be done: it is left alone for a while, longer each time, so that no worker runs hot."""

from collections.abc import Callable, Hashable


class Cooling:
    """Remembers what to leave alone: calls that cannot be claimed, streams that cannot be decided. Pauses in seconds,
    doubling from ``first`` to ``longest``."""

    def __init__(self, clock: Callable[[], float], *, first: float = 0.5, longest: float = 30.0) -> None:
        """``clock``: monotonic seconds."""
        self._clock = clock
        self._first = first
        self._longest = longest
        self._until: dict[Hashable, tuple[float, float]] = {}

    def leave(self, call: Hashable) -> None:
        """Leave it alone for twice as long as the last time."""
        _, last = self._until.get(call, (0.0, self._first / 2))
        pause = min(last * 2, self._longest)
        self._until[call] = (self._clock() + pause, pause)

    def forget(self, call: Hashable) -> None:
        """It went well."""
        self._until.pop(call, None)

    def holds(self, call: Hashable) -> bool:
        """Whether to leave it alone still."""
        return call in self._until and self._clock() < self._until[call][0]

    def __len__(self) -> int:
        """How many are left alone now; what was not touched for long is forgotten."""
        now = self._clock()
        self._until = {
            call: (until, pause)
            for call, (until, pause) in self._until.items()
            if now < until + self._longest
        }
        return sum(now < until for until, _ in self._until.values())
