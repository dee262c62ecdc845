"""Folded states of the streams that this process touched last. Forgetting one costs a read and no more."""

from collections import OrderedDict
from threading import Lock

from ledger.sharding import StreamName
from ledger.state import StreamState


class StateCache:
    """Least recently used states; each is what the events up to its seq amount to. Safe for many threads."""

    def __init__(self, size: int) -> None:
        """``size``: number of streams to keep."""
        self._size = size
        self._states: OrderedDict[StreamName, StreamState] = OrderedDict()
        self._lock = Lock()

    def get(self, stream: StreamName) -> StreamState | None:
        """The newest state known, if it is still kept."""
        with self._lock:
            state = self._states.get(stream)
            if state is not None:
                self._states.move_to_end(stream)
            return state

    def put(self, stream: StreamName, state: StreamState) -> None:
        """Keep ``state``, unless a newer one is kept."""
        with self._lock:
            known = self._states.get(stream)
            if known is None or known.seq < state.seq:
                self._states[stream] = state
            self._states.move_to_end(stream)
            while len(self._states) > self._size:
                self._states.popitem(last=False)

    def drop(self, stream: StreamName) -> None:
        """Forget the stream."""
        with self._lock:
            self._states.pop(stream, None)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._states.clear()
