"""What the redaction of one intent takes away: which intents spell its text, which payloads go, what remains of each. Pure."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, cast

from effects.intent import BlockState
from ledger.events import Event, EventType, NewEvent, Payload
from ledger.fold import fold, initial
from ledger.redaction.remains import NameStays, compared_draft, of_intent, of_tokens
from ledger.state import Branch, Intent, StreamState

TOKEN_EVENTS = frozenset({EventType.TOKENS_DRAFTED, EventType.TOKENS_RULED, EventType.TOKENS_ACCEPTED})


@dataclass(frozen=True, slots=True)
class Plan:
    """``intents``: those whose texts go, the one that is asked for first. ``remains``: by seq, of each payload that goes."""

    intents: tuple[Intent, ...]
    remains: Mapping[int, Payload]

    def event(self, *, by: str, reason: str) -> NewEvent:
        """The ``payload.redacted`` that says so. ``by``: who; ``reason``: why."""
        meant = self.intents[0]
        payload = {
            "intent_id": meant.intent_id,
            "by": by,
            "reason": reason,
            "intents": [intent.intent_id for intent in self.intents],
            "seqs": sorted(self.remains),
            "remains": {str(seq): body for seq, body in sorted(self.remains.items())},
        }
        return NewEvent(EventType.PAYLOAD_REDACTED, payload, branch=meant.branch, intent_id=meant.intent_id)


def concerned(state: StreamState, meant: Intent) -> tuple[Intent, ...]:
    """The intents whose texts go with ``meant``, itself first.

    Of its branch those that were drafted at its place too; and those that share its answer, with whoever was drafted at
    theirs: who adopted it, and whom it adopted it from. Calls of the same block, and neighbours that share one token
    with it, are others' business: their arguments stay.
    """
    living = [intent for intent in state.intents.values() if not intent.redacted]
    found, heads = {meant.intent_id: meant}, [meant]
    for head in heads:
        found |= {i.intent_id: i for i in living if i is not head and _drafted_in_its_place(head, i)}
        origins = {_origin(one) for one in found.values()}
        sharing = [i for i in living if _origin(i) in origins and i.intent_id not in found]
        found |= {i.intent_id: i for i in sharing}
        heads += sharing
    return tuple(found.values())


def plan(state: StreamState, events: Iterable[Event], meant: Intent, name_stays: NameStays) -> Plan:
    """Plan the redaction of ``meant``. ``events``: all of the stream, which amount to ``state``."""
    intents = concerned(state, meant)
    ids = {intent.intent_id for intent in intents}
    spans: dict[str, list[tuple[int, int]]] = {}
    for intent in intents:
        spans.setdefault(intent.branch, []).append((intent.start, intent.end))
    remains: dict[int, Payload] = {}
    gone = set(state.redacted)
    walked = initial(state.tenant, state.commit_key)
    for event in events:
        before = walked.branches.get(event.branch or "")
        walked = fold(walked, event)
        if event.redacted or event.seq in state.redacted:
            continue
        if event.intent_id in ids:
            left = of_intent(event, name_stays)
            if left is not None:
                remains[event.seq] = left
        elif before is not None and _spells(event, before, spans.get(before.name, ()), gone):
            remains[event.seq] = of_tokens(event, before)
            gone.add(event.seq)
    return Plan(intents, remains)


def _drafted_in_its_place(meant: Intent, other: Intent) -> bool:
    if other.branch != meant.branch:
        return False
    block, others = (meant.start, meant.end, meant.round), (other.start, other.end, other.round)
    shared = min(meant.end, other.end) - max(meant.start, other.start)
    if shared <= 0 or block == others:
        return False
    if BlockState.VOIDED not in (meant.block, other.block):
        # Both are accepted: two calls that follow one another.
        return False
    follows = meant.end - 1 == other.start or other.end - 1 == meant.start
    living = other.block is not BlockState.VOIDED
    return not (living and shared == 1 and follows and meant.start != other.start)


def _origin(intent: Intent) -> str:
    """Whose answer it has."""
    return intent.adopted_from or intent.intent_id


def _spells(event: Event, before: Branch, spans: Iterable[tuple[int, int]], gone: Set[int]) -> bool:
    """Whether it is a token event that holds tokens of these positions, accepted or not, or compares with what is gone."""
    if event.type not in TOKEN_EVENTS:
        return False
    if event.type is EventType.TOKENS_RULED and compared_draft(event, before) in gone:
        return True
    first, end = _reach(event, before)
    return any(first < stop and start < end for start, stop in spans)


def _reach(event: Event, before: Branch) -> tuple[int, int]:
    body = cast("Mapping[str, Any]", event.payload)
    match event.type:
        case EventType.TOKENS_DRAFTED:
            return before.drafted_end, before.drafted_end + len(body["tokens"])
        case EventType.TOKENS_ACCEPTED:
            return before.head, before.head + len(body["tokens"])
    proposed = max((len(p.get("ids") or ()) for p in _proposals(body)), default=0)
    own = body.get("token") is not None
    return before.head, max(body["end"], before.head + body["accepted"] + own, before.head + proposed)


def _proposals(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The proposals of a ruling, as far as they have the form of some: writers are free in what they add."""
    said = body.get("proposals")
    found = [p for p in said if isinstance(p, Mapping)] if isinstance(said, list) else []
    return [p for p in found if isinstance(p.get("ids"), list)]
