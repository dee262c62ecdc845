"""The group writer of a process: what gathers while a commit is under way goes out with the next one.

There is no timer and no thread of its own. A caller that finds a free place writes for all who wait; when it is done it
hands the place to one who still waits. A lone append therefore costs what a transaction costs, and the commit itself is
the clock by which many gather.
"""

from collections import deque
from collections.abc import Sequence
from threading import Event, Lock
from typing import Protocol

from ledger.draft import Draft
from ledger.errors import OutcomeUnknown
from ledger.sharding import StreamName

LARGEST_GROUP = 512
"""Appends that go out together at most; it bounds how long one waits for the others."""

LARGEST_BYTES = 8 * 1024 * 1024
"""Bytes of payload after which a group is full."""


class WritesGroups(Protocol):
    """What a group is written by: ``ledger.group.transaction.GroupTransaction``."""

    def write(self, drafts: Sequence[Draft]) -> list[BaseException | None]:
        """What became of each draft: None when it is durable."""
        ...


class _Waiting:
    """One append on its way: its draft, and what its caller waits for."""

    __slots__ = ("called", "done", "draft", "leads", "verdict")

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.called = Event()
        self.done = False
        self.leads = False
        self.verdict: BaseException | None = None


class GroupWriter:
    """Gathers drafts of many threads into groups. ``places``: groups that may be under way at the same time."""

    def __init__(self, transaction: WritesGroups, *, places: int = 1) -> None:
        self._transaction = transaction
        self._lock = Lock()
        self._queue: deque[_Waiting] = deque()
        self._free = places

    def write(self, draft: Draft) -> None:
        """Returns when ``draft`` is durable; raises what became of it else."""
        mine = _Waiting(draft)
        with self._lock:
            self._queue.append(mine)
            if self._free:
                self._free -= 1
                mine.leads = True
        while not mine.done:
            if mine.leads:
                mine.leads = False
                self._lead()
            else:
                mine.called.wait()
                mine.called.clear()
        if mine.verdict is not None:
            raise mine.verdict

    def _lead(self) -> None:
        with self._lock:
            group = self._gather()
        try:
            if group:
                self._answer(group)
        finally:
            with self._lock:
                heir = next((waiting for waiting in self._queue if not waiting.leads), None)
                if heir is None:
                    self._free += 1
                else:
                    heir.leads = True
            if heir is not None:
                heir.called.set()

    def _answer(self, group: list[_Waiting]) -> None:
        unknown = OutcomeUnknown("whoever wrote for this append was interrupted")
        verdicts: Sequence[BaseException | None] = [unknown] * len(group)
        try:
            verdicts = self._transaction.write([waiting.draft for waiting in group])
        finally:
            for waiting, verdict in zip(group, verdicts, strict=True):
                waiting.verdict = verdict
                waiting.done = True
                waiting.called.set()

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
