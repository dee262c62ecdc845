"""Groups that can be looked at: the real transaction, counted, and held up until a test lets it go."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from time import monotonic, sleep

from ledger.append import Appended, Ledger
from ledger.draft import Draft


class Watched:
    """Stands before a group transaction: notes every group, and stops before writing while ``gate`` is shut."""

    def __init__(self, inner) -> None:
        self._inner = inner
        self.groups: list[list[str]] = []
        self.gate = Event()
        self.gate.set()

    def write(self, drafts: Sequence[Draft]) -> list[BaseException | None]:
        self.groups.append([draft.stream.commit_key for draft in drafts])
        assert self.gate.wait(30), "the gate was never opened"
        return self._inner.write(drafts)


def watch(ledger: Ledger) -> Watched:
    """Watch the groups of ``ledger`` from now on."""
    writer = ledger._writer
    writer._transaction = Watched(writer._transaction)
    return writer._transaction


def queued(ledger: Ledger) -> int:
    return len(ledger._writer._queue)


def until(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + 30
    while not condition():
        assert monotonic() < deadline, "it never came to that"
        sleep(0.001)


class Gathered:
    """Appends that go out as one group: the gate is shut behind a first one until all others wait."""

    def __init__(self, ledger: Ledger, tenant: str, watched: Watched) -> None:
        self.ledger, self.tenant, self.watched = ledger, tenant, watched
        self.pool = ThreadPoolExecutor(40)

    def append(self, decisions: dict[str, object]) -> dict[str, Future[Appended]]:
        """Append each decision to its stream, all in one group behind another."""
        from tests.ledger.story import opened, these

        self.watched.gate.clear()
        before = len(self.watched.groups)
        first = self.pool.submit(self.ledger.append, self.tenant, f"first-{before}", these(opened()))
        until(lambda: len(self.watched.groups) == before + 1)
        futures = {
            key: self.pool.submit(self.ledger.append, self.tenant, key, decide)
            for key, decide in decisions.items()
        }
        until(lambda: queued(self.ledger) == len(futures))
        self.watched.gate.set()
        first.result(30)
        return futures
