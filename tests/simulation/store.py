"""The ledger in memory, with what the database checks: one stream's events in order, and licences once only."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from effects.classes import EffectClass
from effects.intent import BlockState
from gateway.turn.tables import TableInForce
from ledger.braking.pausing import NOT_PAUSED
from ledger.braking.schema import EVERY_TOOL
from ledger.change import BatchReplay, Change, CloseLicence, Licence, SeizeLicence, SideRow, StoredBatch
from ledger.errors import BatchIdTaken, LeaseLost, LicenceRefused
from ledger.events import Event
from ledger.fold import fold_all, initial
from ledger.state import StreamState
from tests.simulation.braking import BrakeRows

TENANT = "default"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Behind(Exception):
    """The stream is further than the state that the decision was taken on."""


@dataclass
class LicenceRow:
    effect: str
    once_key: str | None
    worker: str
    epoch: int
    until: float
    open: bool = True
    orphaned: bool = False


@dataclass
class Store:
    """``now``: virtual seconds. What is written is durable. ``watch``: told of every commit."""

    now: Callable[[], float]
    tables: list[TableInForce] = field(default_factory=list)
    states: dict[str, StreamState] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    licences: dict[tuple[str, str, int], LicenceRow] = field(default_factory=dict)
    batches: dict[tuple[str, str], StoredBatch] = field(default_factory=dict)
    brakes: BrakeRows = field(default_factory=BrakeRows)
    counts: Counter[str] = field(default_factory=Counter)
    watch: Callable[[str, Sequence[Event], StreamState], None] = lambda _key, _events, _after: None

    tenant = TENANT

    @property
    def at(self) -> datetime:
        return BEGAN + timedelta(seconds=self.now())

    def read(self, commit_key: str) -> StreamState:
        return self.states.get(commit_key) or initial(TENANT, commit_key)

    def commit(self, commit_key: str, before: StreamState, change: Change) -> StreamState:
        """All of it or nothing. Raises ``Behind``, and what the database would refuse."""
        if self.read(commit_key).seq != before.seq:
            raise Behind
        at, folded = self.at, change.folded
        events = [Event(seq, at, *new) for seq, new in enumerate(change.events, before.seq + 1)]
        known = folded is not None and folded.before is before and folded.at == at
        after = folded.after if folded is not None and known else fold_all(before, events)
        undo = {name: LicenceRow(**vars(row)) for name, row in self.licences.items() if name[0] == commit_key}
        added = []
        try:
            for row in change.side:
                added.append(self._side(commit_key, after, row))
        except Exception:
            for name in added:
                self.licences.pop(name, None)
            self.licences.update(undo)
            raise
        self.states[commit_key] = after
        self.events[commit_key] += events
        self.watch(commit_key, events, after)
        return after

    def _side(self, commit_key: str, after: StreamState, row: SideRow) -> tuple[str, str, int]:
        if isinstance(row, BatchReplay):
            if (commit_key, row.batch_id) in self.batches:
                raise BatchIdTaken("taken")
            response = row.response if isinstance(row.response, str) else row.response(after)
            self.batches[commit_key, row.batch_id] = StoredBatch(row.body_digest, response)
            return ("", "", 0)
        name = (commit_key, row.intent_id, row.attempt)
        match row:
            case Licence():
                self._grant(name, after, row)
            case CloseLicence():
                held = self.licences.get(name)
                if held is None or not held.open or held.epoch != row.epoch:
                    raise LeaseLost(row.intent_id, row.attempt, row.epoch)
                held.open = False
                held.once_key = None if row.unsent else held.once_key
            case SeizeLicence():
                held = self.licences.get(name)
                if held is None or not held.open or held.epoch != row.seen_epoch or held.until >= self.now():
                    raise LeaseLost(row.intent_id, row.attempt, row.seen_epoch)
                held.open, held.epoch = False, held.epoch + 1
        return name if isinstance(row, Licence) else ("", "", 0)

    def _grant(self, name: tuple[str, str, int], after: StreamState, row: Licence) -> None:
        reads = row.effect == EffectClass.READ_ONLY
        if not reads and after.intents[row.intent_id].block is not BlockState.CLEARED:
            raise LicenceRefused("not accepted", "accepted")
        if {str(after.intents[row.intent_id].tool), EVERY_TOOL} & self.brakes.paused:
            raise LicenceRefused("paused", NOT_PAUSED)
        taken = {held.once_key for held in self.licences.values() if held.once_key is not None}
        if name in self.licences or (row.once_key is not None and row.once_key in taken):
            raise LicenceRefused("once only", "once_key")
        until = self.now() + row.lease_seconds
        self.licences[name] = LicenceRow(row.effect, row.once_key, row.worker, row.epoch, until)

    def renew(self, commit_key: str, intent_id: str, attempt: int, epoch: int, seconds: float) -> bool:
        held = self.licences.get((commit_key, intent_id, attempt))
        if held is None or not held.open or held.epoch != epoch:
            return False
        held.until = self.now() + seconds
        return True
