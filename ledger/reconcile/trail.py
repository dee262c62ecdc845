"""The trail of one intent: everything that events and dispatch rows say about it, and where it stood at any seq."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from effects.classes import EffectClass, effect_class, highest
from effects.errors import FootprintRefused
from effects.footprint import Footprint
from effects.order import CallView
from ledger.events import Event, EventType
from ledger.incarnation import RESTORED
from ledger.reconcile.evidence import DispatchRow


def body_of(event: Event) -> Mapping[str, Any]:
    """The payload of an event, for reading with ``get``: where it is redacted there are only those that remain."""
    return cast("Mapping[str, Any]", event.payload)


@dataclass(slots=True)
class Attempt:
    """One dispatch: its ``dispatch.started``, its row, and what is recorded of its outcome, in order."""

    number: int
    started: Event | None = None
    row: DispatchRow | None = None
    outcomes: list[Event] = field(default_factory=list)

    @property
    def started_seq(self) -> int:
        """Seq at which it began."""
        return self.started.seq if self.started is not None else self.row.started_seq if self.row else 0

    @property
    def unsent(self) -> bool:
        """Whether an outcome says that it certainly never left."""
        return any(
            e.type is EventType.DISPATCH_SETTLED and body_of(e).get("unsent") is True for e in self.outcomes
        )

    @property
    def lost(self) -> bool:
        """Whether the database has forgotten that it was sent, if it was (``database_restored``)."""
        first = self.outcomes[0] if self.outcomes else None
        unknown = self.started is None and self.row is None
        return unknown and first is not None and body_of(first).get("because") == RESTORED

    @property
    def effect(self) -> EffectClass:
        """The class under which it was sent: the higher of what event and row say."""
        said = [self.row.effect] if self.row else []
        if self.started is not None:
            said.append(str(body_of(self.started).get("effect")))
        return highest(EffectClass.READ_ONLY if said else EffectClass.WRITE, *map(effect_class, said))


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an intent stands. ``effect``: the highest class recorded. ``over``: final, voided, refused or denied.

    ``attempt``: the latest. ``open_attempt``: sent, outcome awaited. ``doubt_seq``: in doubt since then. ``adopted``: the
    dispatch of another intent whose answer it has taken for its own, ``adopts_in_flight`` while that has no outcome.
    ``awaiting``: a person has to approve it first.
    """

    effect: EffectClass
    over: bool = False
    attempt: int | None = None
    open_attempt: int | None = None
    doubt_seq: int | None = None
    dispatched_seq: int | None = None
    settled_seq: int | None = None
    adopted: Attempt | None = None
    adopts_in_flight: bool = False
    awaiting: bool = False

    @property
    def exposed(self) -> bool:
        """Sent and without an outcome, or in doubt; by itself, or as the dispatch that it has adopted."""
        return self.open_attempt is not None or self.doubt_seq is not None or self.adopts_in_flight


@dataclass(slots=True)
class Trail:
    """Everything recorded about one intent. ``held``: its first ``intent.held``, None where there is none.

    ``adoptions``: by seq of each ``intent.adopted``, the dispatch that it names, as far as that is recorded.
    """

    intent_id: str
    held: Event | None = None
    events: list[Event] = field(default_factory=list)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    adoptions: dict[int, Attempt] = field(default_factory=dict)
    _standings: dict[int | None, Standing] = field(default_factory=dict)

    @property
    def branch(self) -> str:
        """Its branch; ``main`` where nothing says."""
        return (self.held.branch if self.held is not None else None) or "main"

    @property
    def redacted(self) -> bool:
        """Whether part of what was recorded about it is gone."""
        return any(event.redacted for event in self.events)

    @property
    def span(self) -> tuple[int, int]:
        """Token span of its block, as recorded; (0, 0) where it is not."""
        start, end = self._held("span") or (0, 0)
        return (start, end)

    @property
    def ordinal(self) -> int:
        """Place among the calls of its block."""
        return int(self._held("ordinal") or 0)

    @property
    def closed_seq(self) -> int:
        """Seq of the event that brought its block's last token, as recorded; 0 where it is not."""
        return int(self._held("closed_seq") or 0)

    @property
    def byte_span(self) -> tuple[int, int]:
        """Byte span of its block in the branch's accepted text."""
        return (int(self._held("byte_start") or 0), int(self._held("byte_end") or 0))

    @property
    def tool(self) -> str | None:
        """The tool asked for."""
        return cast("str | None", self._held("tool"))

    @property
    def arguments_raw(self) -> str | None:
        """The arguments that were held, and so are sent."""
        return cast("str | None", self._held("arguments_raw"))

    @property
    def arguments_built(self) -> bool:
        """Whether a detector made the arguments from text that does not spell them in JSON."""
        return bool(self._held("arguments_built"))

    @property
    def idempotency_keys(self) -> frozenset[str]:
        """Every key it was released with."""
        keys = {body_of(e).get("idempotency_key") for e in self.of(EventType.INTENT_RELEASED)}
        return frozenset(key for key in keys if key is not None)

    @property
    def footprint(self) -> Footprint:
        """What it touches, as recorded; where that cannot be read, everything."""
        try:
            return Footprint.from_json(self._held("footprint"))
        except FootprintRefused:
            return Footprint(None, None, None)

    def of(self, *types: EventType) -> Iterator[Event]:
        """Its events of these types, in order."""
        return (event for event in self.events if event.type in types)

    def ordered_attempts(self) -> Sequence[Attempt]:
        """Its attempts by number."""
        return [self.attempts[number] for number in sorted(self.attempts)]

    def standing(self, before: int | None = None) -> Standing:
        """Where it stands after its events with a seq below ``before`` (None: all of them). Worked out once for each.

        A trail is asked only when it is whole. What was never held counts as a WRITE.
        """
        known = self._standings.get(before)
        if known is not None:
            return known
        now = Standing(effect=EffectClass.READ_ONLY if self.held is not None else EffectClass.WRITE)
        for event in self.events:
            if before is not None and event.seq >= before:
                break
            now = _after(now, event)
            if event.type is EventType.INTENT_ADOPTED:
                now = _adopting(now, self.adoptions.get(event.seq), before)
        self._standings[before] = now
        return now

    def view(self, before: int | None = None, *, dispatched_seq: int | None = None) -> CallView:
        """As the rules of order see it at ``before``; ``dispatched_seq`` in place of its latest dispatch."""
        now = self.standing(before)
        unheld = self.held is None or (before is not None and self.held.seq >= before)
        return CallView(
            branch=self.branch,
            place=(self.span[0], self.ordinal),
            effect=self.standing().effect if unheld else now.effect,
            footprint=self.footprint,
            terminal=now.over,
            exposed=now.exposed,
            dispatched_seq=dispatched_seq or now.dispatched_seq,
            settled_seq=now.settled_seq,
        )

    def _held(self, name: str) -> Any:
        return None if self.held is None else body_of(self.held).get(name)


def trails(events: Iterable[Event], rows: Iterable[DispatchRow]) -> Mapping[str, Trail]:
    """The trails of all intents that events or dispatch rows name: the union of both."""
    found: dict[str, Trail] = {}
    for event in events:
        if event.intent_id is None:
            continue
        trail = found.setdefault(event.intent_id, Trail(event.intent_id))
        trail.events.append(event)
        if event.type is EventType.INTENT_HELD and trail.held is None:
            trail.held = event
        if event.type in _OF_ATTEMPTS and event.attempt is not None:
            attempt = trail.attempts.setdefault(event.attempt, Attempt(event.attempt))
            if event.type is EventType.DISPATCH_STARTED:
                attempt.started = event
            else:
                attempt.outcomes.append(event)
    for row in rows:
        trail = found.setdefault(row.intent_id, Trail(row.intent_id))
        trail.attempts.setdefault(row.attempt, Attempt(row.attempt)).row = row
    for trail in found.values():
        for event in trail.of(EventType.INTENT_ADOPTED):
            source, number = found.get(str(body_of(event).get("from"))), body_of(event).get("attempt")
            if source is not None and number in source.attempts:
                trail.adoptions[event.seq] = source.attempts[number]
    return found


_OUTCOMES = frozenset(
    {
        EventType.DISPATCH_SETTLED,
        EventType.DISPATCH_EXPIRED,
        EventType.DISPATCH_IN_DOUBT,
        EventType.DISPATCH_RESOLVED,
        EventType.DISPATCH_LATE,
    }
)
_OF_ATTEMPTS = _OUTCOMES | {EventType.DISPATCH_STARTED}
ENDS = frozenset(
    {EventType.INTENT_FINAL, EventType.INTENT_VOIDED, EventType.INTENT_REFUSED, EventType.INTENT_DENIED}
)
_MOVES = ENDS | _OF_ATTEMPTS | {
    EventType.INTENT_HELD,
    EventType.INTENT_RELEASED,
    EventType.INTENT_AWAITING_APPROVAL,
    EventType.INTENT_APPROVED,
    EventType.INTENT_ADOPTED,
}  # fmt: skip
_CLASSED = frozenset({EventType.INTENT_HELD, EventType.INTENT_RELEASED, EventType.DISPATCH_STARTED})


def _after(now: Standing, event: Event) -> Standing:
    if event.type in _CLASSED and "effect" in event.payload:
        said = effect_class(event.payload["effect"])
        now = replace(now, effect=highest(now.effect, said))
    if event.type in _MOVES:
        now = replace(now, awaiting=event.type is EventType.INTENT_AWAITING_APPROVAL)
    if event.type in ENDS:
        return replace(now, over=True)
    if event.type is EventType.INTENT_HELD and now.adopted is not None:
        # What it had adopted came to nothing.
        return replace(now, adopted=None, adopts_in_flight=False, dispatched_seq=None)
    if event.type is EventType.DISPATCH_STARTED:
        return Standing(now.effect, now.over, event.attempt, event.attempt, dispatched_seq=event.seq)
    settles_doubt = event.type is EventType.DISPATCH_RESOLVED or (
        event.type is EventType.DISPATCH_LATE and now.doubt_seq is not None and event.attempt == now.attempt
    )
    if settles_doubt:
        return replace(now, open_attempt=None, doubt_seq=None, settled_seq=event.seq)
    if event.type not in _OUTCOMES or event.attempt != now.open_attempt:
        if event.type is EventType.DISPATCH_IN_DOUBT and now.open_attempt is None and now.settled_seq is None:
            # After an attempt that expired, or of one that the database lost.
            return replace(now, attempt=event.attempt, doubt_seq=event.seq)
        return now
    return replace(
        now,
        open_attempt=None,
        doubt_seq=event.seq if event.type is EventType.DISPATCH_IN_DOUBT else None,
        settled_seq=event.seq if event.type is EventType.DISPATCH_SETTLED else now.settled_seq,
    )


def _adopting(now: Standing, source: Attempt | None, before: int | None) -> Standing:
    """The answer of another intent's dispatch is its own, from the time on that this was sent."""
    if source is None:
        return now
    outcomes = [event for event in source.outcomes if before is None or event.seq < before]
    return replace(
        now,
        attempt=None,
        open_attempt=None,
        dispatched_seq=source.started_seq or None,
        settled_seq=None,
        adopted=source,
        adopts_in_flight=source.started is not None and not outcomes,
    )
