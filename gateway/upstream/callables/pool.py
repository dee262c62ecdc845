"""The processes of one function: as many as calls run at once, at most ``size``."""

import asyncio

from gateway.upstream.callables.process import Child, NotReady
from gateway.upstream.secrets import Resolved

LONGEST_LOAD = 120.0
"""Seconds after which a process that still loads its module is taken for one that never will."""


class Pool:
    """Lends processes. Use it from one event loop."""

    def __init__(self, function: str, resolved: Resolved, size: int) -> None:
        """``resolved``: variables of the processes, beside the few that they inherit."""
        self.resolved = resolved
        self._function = function
        self._places = asyncio.Semaphore(size)
        self._free: list[Child] = []
        self._all: set[Child] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._unclaimed: list[asyncio.Task[Child]] = []
        self._closed = False

    async def take(self, seconds: float) -> Child:
        """A process that runs nothing, within ``seconds``. Raises ``NotReady``.

        One that is not ready by then goes on loading, for whoever comes next.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
                try:
                    return await self._ready()
                except BaseException:
                    self._places.release()
                    raise
        except TimeoutError:
            raise NotReady("open_timeout", f"no process was ready within {seconds:g} s") from None

    def give_back(self, child: Child) -> None:
        """Its call is over."""
        if child.usable and not self._closed:
            self._free.append(child)
        else:
            self._discard(child)
        self._places.release()

    async def close(self) -> None:
        """End every process; calls that run may finish shortly."""
        self._closed = True
        self._free.clear()
        unclaimed = list(self._unclaimed)
        for starting in unclaimed:
            starting.cancel()
        children, self._all = self._all, set()
        await asyncio.gather(*(child.end() for child in children))
        await asyncio.gather(*unclaimed, return_exceptions=True)
        await asyncio.gather(*self._ending)

    async def _ready(self) -> Child:
        while self._free:
            child = self._free.pop()
            if child.usable:
                return child
            self._discard(child)
        starting = self._unclaimed.pop() if self._unclaimed else self._start()
        try:
            child = await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._unclaimed.append(starting)
            starting.add_done_callback(self._take_in)
            if self._closed:
                starting.cancel()
            raise
        self._all.add(child)
        return child

    def _start(self) -> asyncio.Task[Child]:
        return asyncio.create_task(self._load())

    async def _load(self) -> Child:
        async with asyncio.timeout(LONGEST_LOAD):
            return await Child.start(self._function, self.resolved)

    def _take_in(self, started: asyncio.Task[Child]) -> None:
        """It is ready, and may wait for nobody. Had it failed, whoever comes next shall see for himself."""
        if started not in self._unclaimed:
            return
        self._unclaimed.remove(started)
        if started.cancelled() or started.exception() is not None:
            return
        child = started.result()
        if self._closed:
            self._discard(child)
            return
        self._all.add(child)
        self._free.append(child)

    def _discard(self, child: Child) -> None:
        """End it at once, and hear what it said last."""
        child.kill()
        self._all.discard(child)
        ending = asyncio.create_task(child.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
