"""An event loop whose time is a number: it jumps to the next thing that is due, and the same seed takes the same course."""

import asyncio
import selectors
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextvars import Context
from typing import Any, TypeVar

from tests.simulation.process import CURRENT, Process

T = TypeVar("T")


class Standstill(Exception):
    """Nothing will ever happen any more, and somebody still waits."""


class _Nothing(selectors.BaseSelector):
    """Selects no file, and lets time pass."""

    def __init__(self, passing: Callable[[float], None]) -> None:
        self._passing = passing

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return selectors.SelectorKey(fileobj, 0, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return selectors.SelectorKey(fileobj, 0, 0, None)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Standstill
        self._passing(timeout)
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {}

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        raise KeyError(fileobj)

    def close(self) -> None:
        return None


class _Turn:
    """What belongs to a process: while that stands still it is not done, and then when it goes on."""

    __slots__ = ("args", "callback", "context", "handle", "loop", "process")

    def __init__(
        self,
        loop: "VirtualLoop",
        process: Process,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> None:
        self.loop, self.process = loop, process
        self.callback, self.args, self.context = callback, args, context
        self.handle: asyncio.Handle | None = None

    def __call__(self) -> None:
        if self.handle is not None and self.handle.cancelled():
            return
        if self.process.stalled_until > self.loop.time():
            self.loop.call_when_it_goes_on(self)
        else:
            self.callback(*self.args)


class VirtualLoop(asyncio.SelectorEventLoop):
    """``thread_delay``: seconds that work handed to a thread takes; it is then done at once, in order."""

    def __init__(self, thread_delay: Callable[[], float]) -> None:
        self._virtual = 0.0
        self._thread_delay = thread_delay
        super().__init__(_Nothing(self._pass))
        self._clock_resolution = 1e-9
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self) -> float:
        return self._virtual

    def _pass(self, seconds: float) -> None:
        self._virtual += seconds

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        turn = self._turn(callback, args, context)
        if turn is None:
            return super().call_soon(callback, *args, context=context)
        turn.handle = super().call_soon(turn, context=context)
        return turn.handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        turn = self._turn(callback, args, context)
        if turn is None:
            return super().call_at(when, callback, *args, context=context)
        turn.handle = handle = super().call_at(when, turn, context=context)
        return handle

    def _turn(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> "_Turn | None":
        process = CURRENT.get(None) if context is None else context.get(CURRENT)
        return None if process is None else _Turn(self, process, callback, args, context)

    def call_when_it_goes_on(self, turn: "_Turn") -> None:
        super().call_at(turn.process.stalled_until, turn, context=turn.context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()

        def run() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except BaseException as error:  # noqa: BLE001 - whoever awaits it is told
                future.set_exception(error)

        self.call_later(self._thread_delay(), run)
        return future

    # A pipe would be made for every seed, and nobody writes to it.
    def _make_self_pipe(self) -> None:
        self._internal_fds = 0

    def _close_self_pipe(self) -> None:
        return None

    def _write_to_self(self) -> None:
        return None
