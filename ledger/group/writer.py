"""The group writer of a process: what gathers while a commit is under way goes out with the next one.

There is no timer. A caller that waits and finds a free place writes for all who wait; when it is done it hands the place to
one who still waits. A lone append therefore costs what a transaction costs, and the commit itself is the clock by which
many gather. Where nobody waits (``enqueue``), a thread of the writer's own takes the place.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition, Event, Lock, Thread, current_thread
from typing import Protocol

from ledger.draft import Draft
from ledger.errors import OutcomeUnknown
from ledger.observing import NOBODY, Observer
from ledger.sharding import StreamName

LARGEST_GROUP = 512
"""Appends that go out together at most; it bounds how long one waits for the others."""

LARGEST_BYTES = 8 * 1024 * 1024
"""Bytes of payload after which a group is full."""

PARKED = 1.0
"""Seconds for which a thread of the writer's own waits for more to write: beginning one costs what waking one does not."""

Verdict = BaseException | None
"""What became of one draft: None when it is durable."""


class WritesGroups(Protocol):
    """What a group is written by: ``ledger.group.transaction.GroupTransaction``."""

    def write(self, drafts: Sequence[Draft]) -> list[Verdict]:
        """What became of each draft, in their order."""
        ...


class _Waiting:
    """One append on its way, and who is told what became of it."""

    __slots__ = ("draft", "leads", "tell")

    def __init__(self, draft: Draft, tell: Callable[[Verdict], None] | None) -> None:
        self.draft = draft
        self.tell = tell
        self.leads = False


class _Caller(_Waiting):
    """An append whose caller waits, and may be called to write for all."""

    __slots__ = ("called", "done", "verdict")

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft, None)
        self.called = Event()
        self.done = False
        self.verdict: Verdict = None


class GroupWriter:
    """Gathers drafts of many threads into groups. ``places``: groups that may be under way at the same time."""

    def __init__(self, transaction: WritesGroups, *, places: int = 1, observer: Observer = NOBODY) -> None:
        self._observer = observer
        self._transaction = transaction
        self._lock = Lock()
        self._idle = Condition(self._lock)
        self._queue: deque[_Waiting] = deque()
        self._places = places
        self._free = places
        self._parked: list[tuple[Thread, Event]] = []

    def write(self, draft: Draft) -> None:
        """Returns when ``draft`` is durable; raises what became of it else."""
        mine = _Caller(draft)
        with self._lock:
            self._queue.append(mine)
            if self._free:
                self._free -= 1
                mine.leads = True
        try:
            while not mine.done:
                if mine.leads:
                    mine.leads = False
                    try:
                        self._lead()
                    finally:
                        self._hand_over()
                else:
                    mine.called.wait()
                    mine.called.clear()
        finally:
            self._leave(mine)
        if mine.verdict is not None:
            raise mine.verdict

    def enqueue(self, draft: Draft, tell: Callable[[Verdict], None]) -> None:
        """Write ``draft`` without waiting; ``tell`` is called once, in a thread of the writer's, and must not block.

        Raises RuntimeError where no thread can be started: then nothing is written and nobody is told.
        """
        mine = _Waiting(draft, tell)
        with self._lock:
            self._queue.append(mine)
            if not self._free:
                return
            self._free -= 1
        try:
            self._take_own_thread()
        except RuntimeError:
            with self._lock:
                if mine not in self._queue:
                    # Somebody else has taken the place, and this with it.
                    return
                self._queue.remove(mine)
            raise

    def drain(self, within: float) -> bool:
        """Wait until nothing is under way and nobody's thread holds a connection; False where it takes longer (seconds)."""
        with self._idle:
            return self._idle.wait_for(lambda: self._free == self._places and not self._queue, within)

    def _leave(self, mine: _Caller) -> None:
        """Pass on the place of a caller that goes before it takes it: interrupted, or written for by another place."""
        with self._lock:
            if not mine.done and mine in self._queue:
                self._queue.remove(mine)
            leads, mine.leads = mine.leads, False
        if leads:
            self._hand_over()

    def _take_own_thread(self) -> None:
        while True:
            with self._lock:
                thread, called = self._parked.pop() if self._parked else (None, None)
            if thread is None or called is None:
                self._begin_thread()
                return
            # Behind a fork there are threads here that the child does not have.
            if thread.is_alive():
                called.set()
                return

    def _begin_thread(self) -> None:
        try:
            Thread(target=self._serve, name="commitgate-group-writer", daemon=True).start()
        except RuntimeError:
            # The place must not be lost with it: whoever appends next takes it, and all who wait.
            with self._lock:
                self._free += 1
                self._idle.notify_all()
            raise

    def _serve(self) -> None:
        """Lead while somebody waits and no caller takes over, and wait a while to be called again."""
        called = Event()
        parked = (current_thread(), called)
        while True:
            self._lead_on()
            with self._lock:
                self._parked.append(parked)
            if not called.wait(PARKED):
                with self._lock:
                    if parked in self._parked:
                        self._parked.remove(parked)
                        return
                # Whoever took it off the list at this moment is about to call: the call brings the place, and comes once.
                called.wait()
            called.clear()

    def _lead_on(self) -> None:
        """Lead until nobody waits or a caller who does takes over."""
        going_on = True
        while going_on:
            going_on = False
            try:
                self._lead()
                going_on = True
            finally:
                going_on = self._hand_over(keep=going_on)

    def _hand_over(self, *, keep: bool = False) -> bool:
        """Give the place to one who waits, else free it. ``keep``: an own thread asks, and may go on (True)."""
        with self._lock:
            if not self._queue:
                self._free += 1
                self._idle.notify_all()
                return False
            heir = next((w for w in self._queue if isinstance(w, _Caller) and not w.leads), None)
            if heir is not None:
                heir.leads = True
        if heir is not None:
            heir.called.set()
            return False
        if not keep:
            # What whoever asks has written is durable, whatever becomes of the others.
            with suppress(RuntimeError):
                self._take_own_thread()
        return keep

    def _lead(self) -> None:
        with self._lock:
            group = self._gather()
        if not group:
            return
        verdicts: Sequence[Verdict] = [
            OutcomeUnknown("whoever wrote for this append was interrupted") for _ in group
        ]
        try:
            verdicts = self._transaction.write([waiting.draft for waiting in group])
        finally:
            for waiting, verdict in zip(group, verdicts, strict=True):
                _tell(waiting, verdict)
        self._observer.grouped(len(group))

    def _gather(self) -> list[_Waiting]:
        """Take what goes out together: at most one append of a stream, in the order in which they came."""
        group: list[_Waiting] = []
        later: list[_Waiting] = []
        streams: set[StreamName] = set()
        size = 0
        while self._queue and len(group) < LARGEST_GROUP and size < LARGEST_BYTES:
            waiting = self._queue.popleft()
            if waiting.draft.stream in streams:
                later.append(waiting)
                continue
            streams.add(waiting.draft.stream)
            group.append(waiting)
            size += sum([len(record.text) for record in waiting.draft.records])
        self._queue.extendleft(reversed(later))
        return group


def _tell(waiting: _Waiting, verdict: Verdict) -> None:
    if isinstance(waiting, _Caller):
        waiting.verdict = verdict
        waiting.done = True
        waiting.called.set()
    elif waiting.tell is not None:
        waiting.tell(verdict)
