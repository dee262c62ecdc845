"""An upstream that answers at once and remembers when each call began: what is measured is the dispatcher alone."""

import time

from effects.intent import ResultStatus
from gateway.turn.dispatching import Assignment
from gateway.upstream.port import Answered, Reply, Upstream


class Watched:
    """Passes calls on to ``behind`` (None: answers at once), and notes when each began, by its commit key."""

    def __init__(self, behind: Upstream | None = None) -> None:
        self._behind = behind
        self.begun: dict[str, float] = {}

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        """Transmit once."""
        self.begun.setdefault(call.commit_key, time.monotonic())
        if self._behind is None:
            return Answered(ResultStatus.OK, {"ok": True})
        return await self._behind.send(call, timeout=timeout)

    async def aclose(self) -> None:
        """Let the connections of what is behind go."""
        if self._behind is not None:
            await self._behind.aclose()
