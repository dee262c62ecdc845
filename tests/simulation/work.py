"""What waits to be done, as ``ledger.work.Work`` finds it, seen by one process of the simulation."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from effects.intent import IntentState
from ledger.events import EventType
from ledger.incarnation import Database, Look
from ledger.sharding import StreamName
from ledger.work import Doubt, ExpiredLease, ReleasedCall
from tests.simulation.braking import AdmissionsTable, PausesTable
from tests.simulation.store import BEGAN, TENANT

if TYPE_CHECKING:
    from tests.simulation.process import Process

_DATABASE = Database("simulated", BEGAN, 0)


class _Incarnations:
    def __init__(self, process: "Process") -> None:
        self._process = process

    def look(self, _shards: Sequence[int]) -> Look:
        self._process.asked()
        return Look(_DATABASE, (), ())


class SimulatedWork:
    """Questions of one process."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._store = process.store
        self.incarnations = _Incarnations(process)
        self.pauses = PausesTable(process)
        self.admissions = AdmissionsTable(process)

    def released(
        self,
        _shards: Sequence[int],
        limit: int,
        *,
        after: int = -1,
        without: Collection[tuple[str, str | None]] = (),
    ) -> list[ReleasedCall]:
        self._process.asked()
        return [
            ReleasedCall(StreamName.of(TENANT, key), intent.intent_id, intent.tool)
            for key, state in self._store.states.items()
            for intent in state.intents.values()
            if intent.state is IntentState.RELEASED
            if (TENANT, intent.tool) not in without and (TENANT, None) not in without
        ][:limit]

    def doubts(self, _shards: Sequence[int], limit: int) -> list[Doubt]:
        self._process.asked()
        return [
            Doubt(StreamName.of(TENANT, key), intent.intent_id, intent.attempts)
            for key, state in self._store.states.items()
            for intent in state.intents.values()
            if intent.state is IntentState.IN_DOUBT
            if self._unclaimed(key, intent.intent_id, intent.attempts)
        ][:limit]

    def claim_doubt(self, doubt: Doubt, seconds: float) -> bool:
        self._process.asked()
        name = (doubt.stream.commit_key, doubt.intent_id, doubt.attempt)
        if not self._unclaimed(*name):
            return False
        self._store.licences[name].until = self._store.now() + seconds
        return True

    def put_doubt_off(self, doubt: Doubt, seconds: float) -> None:
        self._process.asked()
        row = self._store.licences.get((doubt.stream.commit_key, doubt.intent_id, doubt.attempt))
        if row is not None and not row.open:
            row.until = self._store.now() + seconds

    def _unclaimed(self, commit_key: str, intent_id: str, attempt: int) -> bool:
        row = self._store.licences.get((commit_key, intent_id, attempt))
        return row is not None and not row.open and row.until < self._store.now()

    def expired_leases(self, _shards: Sequence[int], limit: int) -> list[ExpiredLease]:
        self._process.asked()
        return [
            ExpiredLease(StreamName.of(TENANT, key), intent_id, attempt, row.epoch)
            for (key, intent_id, attempt), row in self._store.licences.items()
            if row.open and row.until < self._store.now()
        ][:limit]

    def due_retries(self, _shards: Sequence[int], now: datetime, limit: int) -> list[StreamName]:
        self._process.asked()
        return [
            StreamName.of(TENANT, key)
            for key, state in self._store.states.items()
            if any(
                i.state is IntentState.HELD and i.retry_at is not None and i.retry_at <= now
                for i in state.intents.values()
            )
        ][:limit]

    def idle_streams(self, _shards: Sequence[int], idle: timedelta, limit: int) -> list[StreamName]:
        self._process.asked()
        return [
            StreamName.of(TENANT, key)
            for key, state in self._store.states.items()
            if state.finished is None and self._store.events[key][-1].at < self._store.at - idle
        ][:limit]

    def outcome_recorded(self, stream: StreamName, intent_id: str, attempt: int, type_: EventType) -> bool:
        self._process.asked()
        return any(
            (e.type, e.intent_id, e.attempt) == (type_, intent_id, attempt)
            for e in self._store.events[stream.commit_key]
        )
