"""Batches in order, one behind the other, without the submitter waiting."""

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from uuid import uuid4

from decoding.errors import DecodingError, SinkError
from decoding.sink import Ack, TokenEvent

Deliver = Callable[[Sequence[TokenEvent], str], int]
"""Write one batch under its batch id and give the stream's seq; what it raises refuses the batch."""


@dataclass(frozen=True, slots=True)
class FutureAck:
    """An acknowledgement that a thread will give."""

    future: "Future[int]"

    def result(self, timeout: float | None = None) -> int:
        """The stream's seq after the batch. Raises ``SinkError`` if it was refused, TimeoutError if there is no answer yet."""
        return self.future.result(timeout)


class OrderedDelivery:
    """Delivers batches on a thread of its own, in order. After a refused batch every later one is refused too."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._queue: queue.SimpleQueue[tuple[Sequence[TokenEvent], Future[int]] | None] = queue.SimpleQueue()
        self._failure: DecodingError | None = None
        self._thread = threading.Thread(target=self._run, name="event-sink", daemon=True)
        self._thread.start()

    def submit(self, batch: Sequence[TokenEvent]) -> Ack:
        """Queue one batch."""
        future: Future[int] = Future()
        self._queue.put((batch, future))
        return FutureAck(future)

    def close(self) -> None:
        """Deliver what is queued and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            batch, future = item
            if self._failure is not None:
                future.set_exception(self._failure)
                continue
            try:
                future.set_result(self._deliver(batch, uuid4().hex))
            except DecodingError as error:
                self._failure = error
                future.set_exception(error)
            except Exception as error:  # noqa: BLE001 - whatever it was, the batch was not taken
                self._failure = SinkError(f"the batch could not be written: {error}")
                self._failure.__cause__ = error
                future.set_exception(self._failure)
