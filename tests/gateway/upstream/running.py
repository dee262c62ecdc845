"""An adapter that runs as it does in a dispatcher: in one event loop, for many calls."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from gateway.turn.dispatching import Assignment
from gateway.upstream.port import Reply, Upstream


class Running:
    """Sends calls through ``upstream``, which is closed at the end."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def start(self, call: Assignment, timeout: float | None = 10.0) -> Future[Reply]:
        return asyncio.run_coroutine_threadsafe(self.upstream.send(call, timeout=timeout), self._loop)

    def send(self, call: Assignment, timeout: float | None = 10.0) -> Reply:
        return self.start(call, timeout).result(30)

    def send_all(self, calls: Sequence[Assignment]) -> list[Reply]:
        """All at once."""
        return [reply.result(30) for reply in [self.start(call) for call in calls]]

    def close_upstream(self) -> None:
        asyncio.run_coroutine_threadsafe(self.upstream.aclose(), self._loop).result(30)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close_upstream()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
