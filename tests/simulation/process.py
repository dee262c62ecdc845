"""A process of the simulation: it reads and writes the ledger until a schedule ends it, or stands still for a while."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from random import Random

from gateway.failpoints import FailPoint
from ledger.change import Appended, Change, Licence, StoredBatch
from ledger.errors import LedgerUnavailable, OutcomeUnknown
from ledger.events import Event
from ledger.sharding import StreamName
from ledger.state import StreamState
from tests.simulation.store import Behind, Store

CURRENT: ContextVar["Process"] = ContextVar("CURRENT")

_TOO_LATE = (FailPoint.SENDING, FailPoint.REPEATING)
"""Between its look at the lease and the first byte nothing can keep a process from sending once it goes on."""


class Killed(BaseException):
    """SIGKILL: no handler of the product sees it as an error of its own."""


class Process:
    """One process, with what it remembers of the ledger. ``chance``: draws of the schedule; ``fates`` how often what
    happens to it; ``on_death`` is called once. Its questions to the database begin with ``asked``."""

    def __init__(
        self, name: str, store: Store, chance: Random, fates: "Fates", on_death: Callable[[], None]
    ) -> None:
        self.name = name
        self.store = store
        self.chance = chance
        self.fates = fates
        self.began = store.at
        self.brakes_unanswered = False
        self.dead = False
        self.stalled_until = 0.0
        self._on_death = on_death
        self._known: dict[str, StreamState] = {}

    databases = 0
    stands_still = True
    """Whether the schedule may stop it for a while; a gateway's decision is one step here, so that it shows nothing."""

    def die(self) -> None:
        if not self.dead:
            self.dead = True
            self._on_death()

    def check(self) -> None:
        if self.dead:
            raise Killed

    def meet(self, point: FailPoint) -> None:
        """A fail point of the product."""
        self.check()
        drawn = self.chance.random()
        if drawn < self.fates.kill:
            self.fates.told(f"{self.name} dies at {point}")
            self.die()
            raise Killed
        if self.stands_still and drawn < self.fates.kill + self.fates.stall and point not in _TOO_LATE:
            self.stalled_until = self.store.now() + self.chance.uniform(1, 15)
            self.fates.told(f"{self.name} stands still at {point} until {self.stalled_until:.2f}")

    def monotonic(self) -> float:
        """Seconds by its clock, which does not stand still with it."""
        return max(self.store.now(), self.stalled_until)

    # As ledger.append.Ledger.

    def read(self, _tenant: str, commit_key: str) -> StreamState:
        self.asked()
        state = self._known[commit_key] = self.store.read(commit_key)
        return state

    def events(self, _tenant: str, commit_key: str, after: int, limit: int) -> list[Event]:
        self.asked()
        return [e for e in self.store.events[commit_key] if e.seq > after][:limit]

    def batch(self, _tenant: str, commit_key: str, batch_id: str) -> StoredBatch | None:
        self.asked()
        return self.store.batches.get((commit_key, batch_id))

    def renew(
        self, _tenant: str, commit_key: str, intent_id: str, attempt: int, epoch: int, lease_seconds: float
    ) -> bool:
        self.asked()
        return self.store.renew(commit_key, intent_id, attempt, epoch, lease_seconds)

    def append(self, _tenant: str, commit_key: str, decide: Callable[[StreamState], Change]) -> Appended:
        """Decides on what it remembers, which may be behind; as the product does."""
        self.asked()
        state = self._known.get(commit_key) or self.store.read(commit_key)
        while True:
            newest = self.store.read(commit_key)
            try:
                change = decide(state)
            except Exception:
                if newest.seq == state.seq:
                    raise
                state = newest
                continue
            if not change.events and not change.side:
                if newest.seq == state.seq:
                    return Appended(state, ())
                state = newest
                continue
            try:
                return self._commit(commit_key, state, change)
            except Behind:
                state = self.store.read(commit_key)

    def submit(
        self, tenant: str, commit_key: str, decide: Callable[[StreamState], Change]
    ) -> "Future[Appended]":
        """As ``append``; the answer comes a little later."""
        future: Future[Appended] = Future()

        def told(outcome: Appended | BaseException) -> None:
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        self.append_then(tenant, commit_key, decide, told)
        return future

    def append_then(
        self,
        tenant: str,
        commit_key: str,
        decide: Callable[[StreamState], Change],
        told: Callable[[Appended | BaseException], object],
    ) -> None:
        """As ``append``; ``told`` is called a little later."""
        loop = asyncio.get_running_loop()
        delay = 0.02 * self.chance.random()
        outcome: Appended | BaseException
        try:
            outcome = self.append(tenant, commit_key, decide)
        except BaseException as error:  # noqa: BLE001 - whoever asked is told
            outcome = error
        loop.call_later(delay, told, outcome)

    def warm(self, streams: Sequence[StreamName]) -> None:
        for stream in streams:
            self.read(stream.tenant, stream.commit_key)

    def _commit(self, commit_key: str, before: StreamState, change: Change) -> Appended:
        drawn = self.chance.random()
        lost = drawn < self.fates.commit_lost
        if lost and self.chance.random() < 0.5:
            self.fates.told(f"{self.name}: COMMIT failed, and nobody knows")
            raise OutcomeUnknown("the connection was lost at COMMIT")
        after = self.store.commit(commit_key, before, change)
        events = tuple(self.store.events[commit_key][before.seq :])
        for event in events:
            self.fates.told(f"{self.name}: {commit_key} {event.seq} {event.type} {_told(event)}")
        if lost:
            self.fates.told(f"{self.name}: the answer to COMMIT was lost")
            for row in change.side:
                if isinstance(row, Licence):
                    # Nobody ever sends under it, so that it keeps no place of a limit.
                    self.store.licences[commit_key, row.intent_id, row.attempt].orphaned = True
            raise OutcomeUnknown("the connection was lost at COMMIT")
        self._known[commit_key] = after
        return Appended(after, events)

    def asked(self) -> None:
        self.check()
        if self.chance.random() < self.fates.away:
            raise LedgerUnavailable("the database is away")


class Fates:
    """How often a process is killed or stands still at a fail point, meets a database that is away, loses an answer to
    COMMIT: all zero once the schedule is ``over``. ``told`` hears the story."""

    def __init__(self, random: Random, told: Callable[[str], None]) -> None:
        self.told = told
        self.kill = random.choice([0.0, 0.01, 0.04])
        self.stall = random.choice([0.0, 0.0, 0.05])
        self.away = random.choice([0.0, 0.0, 0.02])
        self.commit_lost = random.choice([0.0, 0.02, 0.05])

    def over(self) -> None:
        self.kill = self.stall = self.away = self.commit_lost = 0.0


def _told(event: Event) -> str:
    body = event.payload
    kept = (
        "reason",
        "because",
        "effect",
        "verdict",
        "release",
        "attempt",
        "status",
        "tool",
        "arguments_raw",
        "accepted",
        "span",
    )
    said = {name: body[name] for name in kept if body.get(name) is not None}
    return f"{event.intent_id or ''} {said}"
