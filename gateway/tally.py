"""What a process wrote, counted for Prometheus: how long calls waited and for what, early reads, dispatches, appends.

Counted from the events of each append, in memory: nothing is asked of the database. Times are differences of the events'
clocks, which may be several machines'. Labels come from closed sets, but for tools: only a tool of an effect table is ever
sent, and behind ``MOST_TOOLS`` of them the others share one label.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram

from effects.intent import Release, ResultStatus
from ledger.change import Appended
from ledger.events import Event, EventType
from ledger.state import Intent

MOST_TOOLS = 200
"""Tools that have a label of their own in one process."""

OTHERS = "(others)"
"""Label of every further tool."""

UNDECIDED, ORDER, APPROVAL, NOTHING, OTHER = "undecided", "order", "approval", "nothing", "other"
"""What a call waited for: its block; other calls; a person; nothing; pauses, limits, budgets, a restart."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

_OF_ANOTHER = frozenset(
    {
        EventType.DISPATCH_SETTLED,
        EventType.DISPATCH_LATE,
        EventType.DISPATCH_RESOLVED,
        EventType.INTENT_FINAL,
        EventType.INTENT_VOIDED,
        EventType.INTENT_REFUSED,
        EventType.INTENT_DENIED,
    }
)
"""Events of other calls that end a call's waiting for its order."""

_STATES = {
    EventType.INTENT_RELEASED: "released",
    EventType.INTENT_AWAITING_APPROVAL: "awaiting_approval",
    EventType.INTENT_REFUSED: "refused",
    EventType.INTENT_VOIDED: "voided",
    EventType.INTENT_DENIED: "denied",
    EventType.INTENT_FINAL: "final",
}

_log = structlog.get_logger(__name__)


class Tally:
    """An ``Observer`` of the ledger. ``registry``: where its metrics are shown."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counters(registry)
        self._histograms(registry)
        self._tools: set[str] = set()
        self._handlers: Mapping[EventType, Callable[[Appended, Event, Intent], None]] = {
            EventType.INTENT_HELD: self._held,
            EventType.INTENT_RELEASED: self._released,
            EventType.INTENT_AWAITING_APPROVAL: self._came_to,
            EventType.INTENT_REFUSED: self._came_to,
            EventType.INTENT_DENIED: self._came_to,
            EventType.INTENT_VOIDED: self._voided,
            EventType.INTENT_FINAL: self._final,
            EventType.INTENT_STALE: self._stale,
            EventType.INTENT_ADOPTED: self._adopted,
            EventType.DISPATCH_STARTED: self._started,
            EventType.DISPATCH_SETTLED: self._settled,
            EventType.DISPATCH_RESOLVED: self._resolved,
            EventType.DISPATCH_EXPIRED: self._lost,
            EventType.DISPATCH_IN_DOUBT: self._lost,
            EventType.DISPATCH_LATE: self._late,
        }

    def _counters(self, registry: CollectorRegistry) -> None:
        def counter(name: str, told: str, *labels: str) -> Counter:
            return Counter(f"commitgate_{name}", told, labels, registry=registry)

        self._appends = counter("appends", "Changes of streams that this process wrote.")
        self._events = counter("appended_events", "Events that this process wrote.")
        self._intents = counter("intents", "Intents that came to a state here.", "effect", "state")
        self._adoptions = counter("adoptions", "Reads that took the answer of a voided early read.", "tool")
        self._early = counter(
            "early_reads", "Early reads that were sent, and what became of their answers.", "tool", "outcome"
        )
        self._dispatches = counter(
            "dispatches", "Dispatches that ended here, by what came of them.", "effect", "outcome"
        )

    def _histograms(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, told: str, *labels: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
            return Histogram(f"commitgate_{name}", told, labels, buckets=buckets, registry=registry)

        self._hold = histogram("hold_seconds", "From held to first released.", "effect", "release")
        self._wait = histogram(
            "wait_seconds", "Parts of the time from held to released, by what they were spent on.", "reason"
        )
        self._latency = histogram(
            "release_latency_seconds", "From released to the first dispatch started.", "effect"
        )
        self._took = histogram("dispatch_seconds", "From a dispatch started to settled.", "effect")
        self._group = histogram(
            "append_group_size", "Changes that one transaction wrote.", buckets=tuple(map(float, _GROUPS))
        )

    def appended(self, appended: Appended) -> None:
        """Count what a change says; see ``Observer``."""
        try:
            self._appends.inc()
            self._events.inc(len(appended.events))
            for event in appended.events:
                handler = self._handlers.get(event.type)
                intent = None if handler is None else appended.state.intents.get(event.intent_id or "")
                if handler is not None and intent is not None:
                    handler(appended, event, intent)
        except Exception:  # noqa: BLE001 - what is only counted must not harm what is written
            _log.exception("not_counted")

    def grouped(self, appends: int) -> None:
        """See ``Observer``."""
        self._group.observe(appends)

    def _held(self, _appended: Appended, _event: Event, intent: Intent) -> None:
        self._intents.labels(intent.effect.value, "held").inc()

    def _came_to(self, _appended: Appended, event: Event, intent: Intent) -> None:
        self._intents.labels(intent.effect.value, _STATES[event.type]).inc()

    def _released(self, appended: Appended, event: Event, intent: Intent) -> None:
        self._came_to(appended, event, intent)
        early = event.payload["release"] == Release.EARLY.value
        if early:
            self._early_read(intent, "sent")
        again = intent.attempts > 1 or (intent.dispatch_seq or event.seq) < event.seq
        if again or intent.held_at is None:
            return
        release = Release.EARLY if early else Release.COMMITTED
        self._hold.labels(intent.effect.value, release.value).observe(_seconds(intent.held_at, event.at))
        for reason, seconds in _waits(appended, event, intent):
            self._wait.labels(reason).observe(seconds)

    def _started(self, _appended: Appended, event: Event, intent: Intent) -> None:
        if event.attempt == 1 and intent.released_at is not None:
            waited = _seconds(intent.released_at, event.at)
            self._latency.labels(intent.effect.value).observe(waited)

    def _settled(self, _appended: Appended, event: Event, intent: Intent) -> None:
        self._dispatches.labels(intent.effect.value, _status(event)).inc()
        if intent.dispatched_at is not None and event.attempt == intent.attempts:
            self._took.labels(intent.effect.value).observe(_seconds(intent.dispatched_at, event.at))

    def _resolved(self, _appended: Appended, event: Event, intent: Intent) -> None:
        self._dispatches.labels(intent.effect.value, f"resolved_{_status(event)}").inc()

    def _lost(self, _appended: Appended, event: Event, intent: Intent) -> None:
        outcome = "in_doubt" if event.type is EventType.DISPATCH_IN_DOUBT else "expired"
        self._dispatches.labels(intent.effect.value, outcome).inc()

    def _late(self, _appended: Appended, _event: Event, intent: Intent) -> None:
        self._dispatches.labels(intent.effect.value, "late").inc()

    def _voided(self, appended: Appended, event: Event, intent: Intent) -> None:
        self._came_to(appended, event, intent)
        if intent.attempts and intent.answered_early and intent.adopted_from is None:
            self._early_read(intent, "wasted")

    def _final(self, appended: Appended, event: Event, intent: Intent) -> None:
        self._came_to(appended, event, intent)
        if intent.answered_early:
            self._early_read(intent, "used" if intent.adopted_from is None else "adopted")

    def _stale(self, _appended: Appended, _event: Event, intent: Intent) -> None:
        if intent.answered_early:
            self._early_read(intent, "stale")

    def _adopted(self, _appended: Appended, _event: Event, intent: Intent) -> None:
        self._adoptions.labels(self._tool(intent)).inc()

    def _early_read(self, intent: Intent, outcome: str) -> None:
        self._early.labels(self._tool(intent), outcome).inc()

    def _tool(self, intent: Intent) -> str:
        tool = intent.tool or OTHERS
        if tool not in self._tools:
            if len(self._tools) >= MOST_TOOLS:
                return OTHERS
            self._tools.add(tool)
        return tool


def _waits(appended: Appended, event: Event, intent: Intent) -> Iterator[tuple[str, float]]:
    """Reason and seconds of each part of the time from held to released."""
    held, cleared = intent.held_at, intent.cleared_at
    if held is None:
        return
    last = _last_reason(appended, event)
    if cleared is None or last == UNDECIDED:
        yield last, _seconds(held, event.at)
        return
    if cleared > held:
        yield UNDECIDED, _seconds(held, cleared)
    yield last, _seconds(max(held, cleared), event.at)


def _last_reason(appended: Appended, released: Event) -> str:
    """What the release waited for at last: the event of the same change that let it go says so."""
    reason = OTHER
    for event in appended.events:
        if event.seq >= released.seq:
            break
        if event.intent_id == released.intent_id:
            if event.type is EventType.INTENT_APPROVED:
                return APPROVAL
            if event.type is EventType.INTENT_HELD:
                reason = NOTHING
        elif event.type is EventType.BLOCK_CLEARED and released.intent_id in _named(event):
            return UNDECIDED if reason is OTHER else reason
        elif event.type in _OF_ANOTHER and reason is OTHER:
            reason = ORDER
    return reason


def _named(event: Event) -> list[object]:
    named = event.payload["intents"]
    return named if isinstance(named, list) else []


def _status(event: Event) -> str:
    return ResultStatus(str(event.payload["status"])).value


def _seconds(since: datetime, until: datetime) -> float:
    return max(0.0, (until - since).total_seconds())
