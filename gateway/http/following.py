"""Those who wait for new events of streams: one look at the database for all of them, however many they are.

A look every ``poll_seconds`` while anybody waits finds appends of every process; nothing needs to be told. Whoever
leaves, leaves nothing behind. All of this belongs to the event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager

import structlog
from anyio import move_on_after
from fastapi.concurrency import run_in_threadpool

from gateway.errors import TooManyFollowers
from gateway.http.problems import problem_of
from ledger.sharding import StreamName

Heads = Callable[[Collection[StreamName]], Mapping[StreamName, int]]
"""The seq of each of some streams; blocks."""

LONGEST_WAIT = 0.5
"""Seconds after which somebody who waits looks around, whatever happens."""

_AWAY = 1.0

_log = structlog.get_logger(__name__)


class Follower:
    """One that waits for a stream to go on."""

    def __init__(self) -> None:
        self._seq = 0
        self._moved = asyncio.Event()

    def reached(self, seq: int) -> None:
        """The stream has come to ``seq``."""
        if seq > self._seq:
            self._seq = seq
            self._moved.set()

    async def beyond(self, seq: int) -> bool:
        """Whether the stream goes on beyond ``seq``; waits for it, but not for long."""
        with move_on_after(LONGEST_WAIT):
            while self._seq <= seq:
                self._moved.clear()
                await self._moved.wait()
        return self._seq > seq


class Followers:
    """All that follow streams in one front. ``limit``: so many at the same time."""

    def __init__(self, heads: Heads, *, poll_seconds: float, limit: int) -> None:
        self._heads = heads
        self._poll_seconds = poll_seconds
        self._limit = limit
        self._waiting: dict[StreamName, set[Follower]] = {}
        self._watch: asyncio.Task[None] | None = None
        self.count = 0

    def check(self) -> None:
        """Raise ``TooManyFollowers`` where no other fits in."""
        if self.count >= self._limit:
            raise TooManyFollowers(f"{self._limit} live event streams are open already", retryable=True)

    @asynccontextmanager
    async def follow(self, stream: StreamName) -> AsyncIterator[Follower]:
        """A follower of ``stream`` while the block runs."""
        self.count += 1
        follower = Follower()
        self._waiting.setdefault(stream, set()).add(follower)
        if self._watch is None:
            self._watch = asyncio.create_task(self._run())
        try:
            yield follower
        finally:
            self.count -= 1
            left = self._waiting[stream]
            left.discard(follower)
            if not left:
                del self._waiting[stream]

    async def _run(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(await self._look())
        finally:
            self._watch = None

    async def _look(self) -> float:
        """Tell everybody how far the streams have come; seconds until the next look."""
        try:
            found = await run_in_threadpool(self._heads, list(self._waiting))
        except Exception as error:  # noqa: BLE001 - a look that fails is repeated; those who wait keep waiting
            _log.warning("followers_cannot_look", code=problem_of(error).code)
            return _AWAY
        for stream, seq in found.items():
            for follower in self._waiting.get(stream, ()):
                follower.reached(seq)
        return self._poll_seconds
