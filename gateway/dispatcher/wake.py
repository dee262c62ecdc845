"""Waking a dispatcher from any thread of its process: polling is the safety net, this is the speed."""

import asyncio
from threading import Lock


class Wake:
    """A bell. ``ring`` from any thread; ``heard`` in the dispatcher's loop. Rings that nobody heard yet are one."""

    def __init__(self) -> None:
        """Not bound to a loop yet."""
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rung = asyncio.Event()
        self._ringing = False

    def bind(self) -> None:
        """Listen in the running loop from now on."""
        with self._lock:
            self._rung = asyncio.Event()
            self._rung.set()
            self._ringing = False
            self._loop = asyncio.get_running_loop()

    def unbind(self) -> None:
        """Nobody listens any more; rings are lost."""
        with self._lock:
            self._loop = None

    def ring(self) -> None:
        """There may be work."""
        with self._lock:
            if self._ringing or self._loop is None or self._loop.is_closed():
                return
            self._ringing = True
            self._loop.call_soon_threadsafe(self._sound)

    def _sound(self) -> None:
        with self._lock:
            self._ringing = False
        self._rung.set()

    async def heard(self, within: float) -> None:
        """Return once it rings, at the latest after ``within`` seconds."""
        try:
            async with asyncio.timeout(within):
                await self._rung.wait()
        except TimeoutError:
            return
        finally:
            self._rung.clear()
