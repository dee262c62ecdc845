"""What a crash has done: counted from two sides that nobody can talk away, the tool's log and the ledger. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from effects.classes import EffectClass
from effects.intent import BlockState, IntentState, ResultStatus
from ledger.events import Event, EventType
from ledger.fold import fold, initial
from ledger.state import Intent, StreamState

Line = Mapping[str, Any]

WRITE_TWICE = "WRITE sent twice"
WRITE_LOST = "WRITE neither settled nor in doubt"
KEYS_DIFFER = "IDEMPOTENT keys differ"
PUT_TWICE = "IDEMPOTENT done twice"
PUT_LOST = "IDEMPOTENT neither settled nor in doubt"
READ_NOT_FINAL = "cleared READ not final"
UNRECORDED = "sent without a record before"
UNACCEPTED = "sent without acceptance"
CONTRADICTED = "the ledger says what did not happen"
OUT_OF_ORDER = "acted out of order"
STALE = "final answer that missed an earlier effect"
NOT_OVER = "not final after its doubts were settled"
FAULTS = (
    WRITE_TWICE, WRITE_LOST, KEYS_DIFFER, PUT_TWICE, PUT_LOST, READ_NOT_FINAL, UNRECORDED, UNACCEPTED, CONTRADICTED,
    OUT_OF_ORDER, STALE, NOT_OVER,
)  # fmt: skip

_LOST = {
    EffectClass.WRITE: WRITE_LOST,
    EffectClass.IDEMPOTENT: PUT_LOST,
    EffectClass.READ_ONLY: READ_NOT_FINAL,
}
_MISSING = {"write": WRITE_LOST, "put": PUT_LOST, "read": READ_NOT_FINAL}


class Asked(NamedTuple):
    """One call that a stream's accepted tokens ask for."""

    tool: str
    key: str
    nth: int


@dataclass
class Verdict:
    """``faults``: the intents (or commit keys) at fault, by the fault. ``counts``: what was judged."""

    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return "; ".join(f"{name}: {who}" for name, who in self.faults.items()) or "no fault"


def folded(commit_key: str, events: Iterable[Event], tenant: str = "default") -> StreamState:
    """The state that the events of a stream amount to."""
    state = initial(tenant, commit_key)
    for event in events:
        state = fold(state, event)
    return state


def in_the_way(state: StreamState, intent: Intent) -> bool:
    """Whether an earlier call of the stream is in doubt, so that this one waits for a person."""
    return any(o.state is IntentState.IN_DOUBT and o.place < intent.place for o in state.intents.values())


def rests(state: StreamState, asked: Sequence[Asked]) -> bool:
    """Whether nothing more happens to the stream by itself."""
    cleared = [i for i in state.intents.values() if i.block is BlockState.CLEARED]
    return (
        state.finished is not None
        and len(cleared) >= len(asked)
        and all(
            i.terminal or i.state is IntentState.IN_DOUBT or in_the_way(state, i)
            for i in state.intents.values()
        )
    )


def judge(
    asked: Mapping[str, Sequence[Asked]],
    told: Mapping[str, Sequence[Event]],
    log: Sequence[Line],
    *,
    resolved: bool = False,
) -> Verdict:
    """Judge the streams of ``asked`` (by commit key) once they rest: their events, and all lines of the tool's log.

    ``resolved``: every doubt was settled by a person; then everything has to be over.
    """
    verdict = Verdict()
    acts: dict[str, list[Line]] = defaultdict(list)
    by_stream: dict[str, list[Line]] = defaultdict(list)
    for line in log:
        if line["line"] == "acted":
            acts[line["intent_id"]].append(line)
            by_stream[line["commit_key"]].append(line)
    owners: dict[str, set[str]] = defaultdict(set)
    for commit_key, calls in asked.items():
        events = told.get(commit_key, ())
        state = folded(commit_key, events)
        started = {e.intent_id for e in events if e.type is EventType.DISPATCH_STARTED}
        _judge_presence(verdict, state, calls, commit_key)
        for intent in state.intents.values():
            mine = acts[intent.intent_id]
            for line in mine:
                owners[str(line["idempotency_key"])].add(intent.intent_id)
            for fault in _faults(state, intent, mine, started, resolved=resolved):
                verdict.faults[fault].append(intent.intent_id)
            _count(verdict, intent, mine)
        _judge_order(verdict, state, by_stream[commit_key], commit_key)
    _judge_strangers(verdict, asked, told, acts)
    for key, intents in owners.items():
        if key != "None" and len(intents) > 1:
            verdict.faults[KEYS_DIFFER].append(key)
    return verdict


def _judge_presence(verdict: Verdict, state: StreamState, calls: Sequence[Asked], commit_key: str) -> None:
    cleared = Counter(i.tool for i in state.intents.values() if i.block is BlockState.CLEARED)
    for tool, number in Counter(call.tool for call in calls).items():
        if cleared[tool] != number:
            verdict.faults[_MISSING[tool]].append(commit_key)


def _faults(
    state: StreamState, intent: Intent, acts: list[Line], started: set[str | None], *, resolved: bool
) -> Iterator[str]:
    reads = intent.effect is EffectClass.READ_ONLY
    if acts and intent.intent_id not in started:
        yield UNRECORDED
    if acts and not reads and intent.block is not BlockState.CLEARED:
        yield UNACCEPTED
    if intent.effect is EffectClass.WRITE and len(acts) > 1:
        yield WRITE_TWICE
    if intent.effect is EffectClass.IDEMPOTENT:
        if len({line["idempotency_key"] for line in acts}) > 1:
            yield KEYS_DIFFER
        if sum(not line["replayed"] for line in acts) > 1:
            yield PUT_TWICE
    if intent.block is BlockState.CLEARED:
        yield from _ends(state, intent, acts, resolved=resolved)


def _ends(state: StreamState, intent: Intent, acts: list[Line], *, resolved: bool) -> Iterator[str]:
    waits = in_the_way(state, intent)
    if resolved and not intent.final:
        yield NOT_OVER
    in_hand = intent.final or waits or intent.state is IntentState.IN_DOUBT
    if not in_hand or (intent.effect is EffectClass.READ_ONLY and intent.state is IntentState.IN_DOUBT):
        yield _LOST[intent.effect]
    if intent.final and intent.effect is not EffectClass.READ_ONLY:
        happened = intent.result_status in (ResultStatus.OK, ResultStatus.HAPPENED_UNKNOWN_RESULT)
        if happened != bool(acts):
            yield CONTRADICTED


def _judge_order(verdict: Verdict, state: StreamState, mine: list[Line], commit_key: str) -> None:
    """Effects fall in the order of their places, and a final answer has seen exactly those before it."""
    effects = [line for line in mine if line["tool"] != "read" and not line["replayed"]]
    places = [int(line["nth"]) for line in effects if line["nth"] is not None]
    if places != sorted(places):
        verdict.faults[OUT_OF_ORDER].append(commit_key)
    nths = {line["intent_id"]: int(line["nth"]) for line in mine if line["nth"] is not None}
    for intent in state.intents.values():
        if intent.tool != "read" or not intent.final or intent.result_status is not ResultStatus.OK:
            continue
        before = len({n for n in places if n < nths.get(intent.intent_id, 0)})
        if _count_in(intent.result_content) != before:
            verdict.faults[STALE].append(intent.intent_id)


def _count_in(content: object) -> object:
    """What a read answered, over whichever upstream."""
    found = content if isinstance(content, dict) else {}
    return found.get("structuredContent", found).get("count")


def _judge_strangers(
    verdict: Verdict,
    asked: Mapping[str, Sequence[Asked]],
    told: Mapping[str, Sequence[Event]],
    acts: Mapping[str, list[Line]],
) -> None:
    known = {e.intent_id for events in told.values() for e in events if e.intent_id is not None}
    for intent_id, lines in acts.items():
        if lines and lines[0]["commit_key"] in asked and intent_id not in known:
            verdict.faults[UNRECORDED].append(intent_id)


def _count(verdict: Verdict, intent: Intent, acts: list[Line]) -> None:
    verdict.counts["calls"] += 1
    verdict.counts[f"{intent.effect.name} calls"] += 1
    verdict.counts["in doubt"] += intent.state is IntentState.IN_DOUBT
    verdict.counts["acts"] += len(acts)
    verdict.counts["sent again"] += intent.attempts > 1
    verdict.counts["unavailable"] += intent.result_status is ResultStatus.UNAVAILABLE
    verdict.counts["voided"] += intent.block is BlockState.VOIDED
