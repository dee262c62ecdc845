"""The processes of one function: as many as calls run at once, at most ``size``."""

import asyncio
from collections.abc import Mapping

from gateway.upstream.callables.process import Child, NotReady


class Pool:
    """Lends processes. Use it from one event loop."""

    def __init__(self, function: str, variables: Mapping[str, str], size: int) -> None:
        """``variables``: of the processes, beside the few that they inherit."""
        self.variables = dict(variables)
        self._function = function
        self._places = asyncio.Semaphore(size)
        self._free: list[Child] = []
        self._all: set[Child] = set()
        self._closed = False

    async def take(self, seconds: float) -> Child:
        """A process that runs nothing, within ``seconds``. Raises ``NotReady``."""
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
            child.kill()
            self._all.discard(child)
        self._places.release()

    async def close(self) -> None:
        """End every process; calls that run may finish shortly."""
        self._closed = True
        self._free.clear()
        children, self._all = self._all, set()
        await asyncio.gather(*(child.end() for child in children))

    async def _ready(self) -> Child:
        while self._free:
            child = self._free.pop()
            if child.usable:
                return child
            self._all.discard(child)
        child = await Child.start(self._function, self.variables)
        self._all.add(child)
        return child
