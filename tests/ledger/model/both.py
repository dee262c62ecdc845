"""One history: every command goes to the model and to the real thing, and both are compared after it."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NoReturn, Protocol

from gateway.turn.opening import StreamTerms
from ledger.events import Event
from ledger.state import Intent, StreamState
from tests.ledger.model import sending
from tests.ledger.model.compare import compare, place_of
from tests.ledger.model.lanes import Lane
from tests.ledger.model.stream import TRIES, Model, Said
from tests.ledger.model.tools import Policy

START = datetime(2026, 1, 1, tzinfo=UTC)
LANES = ("main", "left", "right")


class Real(Protocol):
    """What a history is played on."""

    replays_batches: bool
    state: StreamState
    log: list[Event]

    def take_over(self, now: datetime) -> None: ...
    def reopen(self, terms: StreamTerms, now: datetime) -> str | None: ...
    def write(self, epoch: int, events: list[Said], now: datetime) -> str | None: ...
    def replay(self, epoch: int, events: list[Said], now: datetime, *, same_body: bool) -> str: ...
    def post(self, said: Said, now: datetime) -> str: ...
    def claim(self, intent_id: str, now: datetime) -> bool: ...
    def answer(
        self, intent_id: str, attempt: int, status: str, content: object, now: datetime, *, unsent: bool
    ) -> bool: ...
    def lose(self, intent_id: str, attempt: int, retry_after: float, now: datetime) -> bool: ...
    def resolve(self, intent_id: str, happened: bool, now: datetime) -> str | None: ...
    def approve(self, intent_id: str, now: datetime, *, of_others: bool) -> str | None: ...
    def deny(self, intent_id: str, now: datetime, *, of_others: bool) -> str | None: ...
    def fall_silent(self, now: datetime) -> None: ...
    def settle_down(self, now: datetime) -> None: ...
    def check(self) -> None: ...


Begin = Callable[[Policy, str, tuple[str, ...], datetime], Real]


class Both:
    """The model and the real thing. ``seen`` counts what happened, for the coverage of the generator."""

    def __init__(self, begin: Begin, policy: Policy, source: str, lanes: int, seen: Counter[str]) -> None:
        names = LANES[:lanes]
        self.now = START
        self.seen = seen
        self.real = begin(policy, source, names, self.now)
        self.model = Model(policy, source, {name: Lane() for name in names}, self.now)
        self.sound = True
        self._before: dict[str, Intent] = {}
        self._logged = 0
        self.story = [f"a stream of {lanes} branches, {source}, {policy}"]
        self.compare()

    @property
    def intents(self) -> list[Intent]:
        return sorted(self.real.state.intents.values(), key=lambda i: place_of(i))

    def begin(self, what: str, seconds: float = 0.001) -> datetime:
        """The time of the next command; the history is told again where it goes wrong."""
        self.story.append(what)
        self.sound = False
        self.now += timedelta(seconds=seconds)
        return self.now

    def same(self, mine: object, theirs: object, what: str) -> None:
        if mine != theirs:
            self.fail(f"{what}: the model says {mine!r}, the ledger {theirs!r}")

    def fail(self, why: str) -> NoReturn:
        raise AssertionError("\n  ".join(["the history", *self.story]) + f"\n{why}")

    def write(self, *events: Said, epoch: int | None = None) -> str | None:
        epoch = self.model.epoch if epoch is None else epoch
        now = self.begin(f"epoch {epoch} writes {list(events)}")
        before = self.real.state
        theirs = self.real.write(epoch, list(events), now)
        mine = self.model.write(epoch, list(events), now)
        self.same(mine, theirs, f"writing {[e['type'] for e in events]}")
        if theirs is not None:
            self.seen[f"refused: {theirs}"] += 1
            self.same(before, self.real.state, "a refused batch left a trace")
        self.compare()
        return theirs

    def replay(self, epoch: int, events: list[Said], *, same_body: bool) -> None:
        """The last batch once more, whoever writes by now: answered from what was written, or refused for its body."""
        now = self.begin(f"the last batch again, same_body={same_body}")
        before = self.real.state
        theirs = self.real.replay(epoch, events, now, same_body=same_body)
        self.same("replayed" if same_body else "batch_id_reused", theirs, "a batch id given again")
        self.same(before, self.real.state, "a batch given again left a trace")
        self.seen[f"batch given again: {theirs}"] += 1
        self.compare()

    def post(self, said: Said) -> str:
        now = self.begin(f"post {said}")
        theirs = self.real.post(said, now)
        self.same(self.model.post(said, now), theirs, "posting")
        self.seen[f"posted: {theirs}"] += 1
        self.compare()
        return theirs

    def take_over(self) -> None:
        if any(lane.pending for lane in self.model.lanes.values()) and self.model.finished is None:
            self.seen["takeover over drafts"] += 1
        now = self.begin("take over")
        self.real.take_over(now)
        self.model.take_over(now)
        self.compare()

    def reopen_as_another(self, terms: StreamTerms) -> None:
        code = self.real.reopen(terms, self.begin(f"open again with {terms}"))
        self.seen[f"refused: {code}"] += 1
        if code is None or not code.startswith("exists_with_different_"):
            self.fail(f"opened again on other terms: {code}")
        self.compare()

    def claim(self, intent: Intent) -> bool:
        now = self.begin(f"claim {place_of(intent)}")
        theirs = self.real.claim(intent.intent_id, now)
        self.same(sending.claim(self.model, place_of(intent), now), theirs, "claiming")
        self.compare()
        return theirs

    def answer(
        self, intent: Intent, attempt: int, status: str, content: object, *, unsent: bool = False
    ) -> None:
        self._note_late(intent, attempt)
        now = self.begin(f"{status} for {place_of(intent)} attempt {attempt}, unsent={unsent}")
        theirs = self.real.answer(intent.intent_id, attempt, status, content, now, unsent=unsent)
        mine = sending.answer(self.model, place_of(intent), attempt, status, content, now, unsent=unsent)
        self.same(mine, theirs, "an outcome")
        self.compare()

    def lose(self, intent: Intent, attempt: int, retry_after: float = 0.0) -> None:
        now = self.begin(f"lose {place_of(intent)} attempt {attempt}, again after {retry_after}")
        theirs = self.real.lose(intent.intent_id, attempt, retry_after, now)
        mine = sending.lose(self.model, place_of(intent), attempt, retry_after, now)
        self.same(mine, theirs, "a loss")
        self.compare()

    def resolve(self, intent: Intent, *, happened: bool) -> None:
        now = self.begin(f"resolve {place_of(intent)}: happened={happened}")
        theirs = self.real.resolve(intent.intent_id, happened, now)
        self.same(sending.resolve(self.model, place_of(intent), happened, now), theirs, "resolving")
        self.seen[f"resolving: {theirs}"] += 1
        self.compare()

    def approve(self, intent: Intent, *, of_others: bool = False) -> None:
        now = self.begin(f"approve {place_of(intent)}, of_others={of_others}")
        theirs = self.real.approve(intent.intent_id, now, of_others=of_others)
        mine = sending.approve(self.model, place_of(intent), now, of_others=of_others)
        self.same(mine, theirs, "approving")
        self.seen[f"approving: {theirs}"] += 1
        self.compare()

    def deny(self, intent: Intent, *, of_others: bool = False) -> None:
        now = self.begin(f"deny {place_of(intent)}, of_others={of_others}")
        theirs = self.real.deny(intent.intent_id, now, of_others=of_others)
        mine = sending.deny(self.model, place_of(intent), now, of_others=of_others)
        self.same(mine, theirs, "denying")
        self.seen[f"denying: {theirs}"] += 1
        self.compare()

    def wait(self, seconds: float, *, silent: bool = False) -> None:
        now = self.begin(f"wait {seconds} s, silent={silent}", seconds)
        if silent:
            self.real.fall_silent(now)
            self.model.fall_silent(now)
        else:
            self.real.settle_down(now)
            self.model.settle_down(now)
        self.compare()

    def compare(self) -> None:
        state = self.real.state
        differences = compare(self.model, state)
        if differences:
            self.fail("\n".join(["model and ledger differ:", *differences]))
        self._note(state)
        self.sound = True

    def end(self) -> None:
        """What must hold of a whole history."""
        if self.sound:
            self.real.check()

    def _note_late(self, intent: Intent, attempt: int) -> None:
        if intent.open_attempt == attempt:
            return
        if intent.state == "in_doubt":
            self.seen[
                "late, settles a doubt" if attempt == intent.attempts else "late, older than the doubt"
            ] += 1
        elif intent.resolved:
            self.seen["late, after a resolution"] += 1
        elif intent.open_attempt is not None:
            self.seen["late, of an earlier attempt"] += 1
        else:
            self.seen["late, of an expired attempt"] += 1

    def _note(self, state: StreamState) -> None:
        for event in self.real.log[self._logged :]:
            self.seen[f"event {event.type.value}"] += 1
            self.seen["events"] += 1
        self._logged = len(self.real.log)
        for intent_id, after in state.intents.items():
            before = self._before.get(intent_id)
            if before is not after:
                self.seen[f"{_stand(before)} -> {_stand(after)}"] += 1
                self._note_read(before, after)
        self._before = dict(state.intents)

    def _note_read(self, before: Intent | None, after: Intent) -> None:
        if after.final and after.answered_early and not (before and before.final):
            self.seen["early read used"] += 1
        if after.block == "voided" and after.attempts and not (before and before.block == "voided"):
            self.seen["early read wasted"] += 1
        if (
            after.result_status == "unavailable"
            and after.attempts == TRIES
            and not (before and before.result_status)
        ):
            self.seen["given up as unavailable"] += 1
        if after.state == "voided" and after.result_status and before and not before.result_status:
            self.seen["early read answered after its block was voided"] += 1
        if before is not None and before.state == "dispatched" and before.adopted_from is not None:
            together = after.state == "settled" and after.adopted_from == before.adopted_from
            self.seen["adopted in flight: settled together"] += together
            self.seen["adopted in flight: came to nothing"] += after.adopted_from is None
        if after.state == "awaiting_approval" and before is not None and before.approval is not None:
            self.seen["asked again" if before.approval.spent_on else "asked again: it expired"] += 1
        if after.stale and not (before and before.stale):
            self.seen[f"early read stale, {after.block.value}"] += 1


def _stand(intent: Intent | None) -> str:
    if intent is None:
        return "nothing"
    final = ", final" if intent.final else ""
    kind = "read" if intent.effect == "READ_ONLY" else "change"
    return f"{kind} {intent.state.value}{final}"
