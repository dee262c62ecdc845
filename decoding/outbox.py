"""Batches on their way to the sink: decoding runs ahead of durability by a bounded number of them."""

from collections import deque

from decoding.errors import SinkError
from decoding.sink import Ack, EventSink, TokenEvent


class Outbox:
    """Submits batches without waiting, until ``limit`` of them have no answer; then it waits for the oldest.

    ``timeout``: seconds to wait for one answer; None waits for ever. Every method raises ``SinkError`` once a
    batch was refused, whichever batch that was; ``sink_timeout`` where no answer came.
    """

    def __init__(self, sink: EventSink, limit: int, timeout: float | None) -> None:
        """See the class."""
        self._sink = sink
        self._limit = limit
        self._timeout = timeout
        self._waiting: deque[Ack] = deque()

    def send(self, *events: TokenEvent) -> None:
        """Submit one batch."""
        self._collect_answered()
        while len(self._waiting) >= self._limit:
            self._collect_oldest()
        self._waiting.append(self._sink.submit(events))

    def drain(self) -> None:
        """Wait until everything submitted is durable."""
        while self._waiting:
            self._collect_oldest()

    def _collect_answered(self) -> None:
        """Learn of refusals early, without waiting."""
        while self._waiting:
            try:
                self._waiting[0].result(timeout=0)
            except TimeoutError:
                return
            self._waiting.popleft()

    def _collect_oldest(self) -> None:
        try:
            self._waiting[0].result(timeout=self._timeout)
        except TimeoutError as error:
            raise SinkError(
                f"no answer from the stream within {self._timeout} s", code="sink_timeout"
            ) from error
        self._waiting.popleft()
