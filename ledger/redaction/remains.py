"""What remains of a payload that is redacted: numbers, codes and names that an operator gave; no text of a model or a tool.

Pure. Folding what remains gives what folding the payload gives, with the texts blank.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ledger.events import Event, EventType, Payload
from ledger.fold import spelled
from ledger.state import Branch

Body = Mapping[str, Any]
NameStays = Callable[[str], bool]
"""Whether a tool's name may stay: one that no effect table knows was made up by the model."""

_BLANK = {"text": ""}

_KEPT: Mapping[EventType, tuple[str, ...]] = {
    EventType.INTENT_HELD: (
        "intent_id",
        "round",
        "span",
        "ordinal",
        "block_ordinal",
        "byte_start",
        "byte_end",
        "closed_seq",
        "problem",
        "arguments_built",
        "approval",
        "effect",
        "effect_version",
        "reason",
    ),
    EventType.INTENT_RELEASED: ("intent_id", "release", "effect", "effect_version", "definition"),
    EventType.INTENT_REFUSED: ("intent_id", "reason"),
    EventType.INTENT_VOIDED: ("intent_id", "reason"),
    EventType.INTENT_AWAITING_APPROVAL: (
        "intent_id",
        "because",
        "effect",
        "effect_version",
        "upstream",
        "definition",
    ),
    EventType.INTENT_APPROVED: ("intent_id", "by", "expires_at", "definition"),
    EventType.INTENT_DENIED: ("intent_id", "by"),
    EventType.INTENT_ADOPTED: ("intent_id", "from", "attempt", "commit_key"),
    EventType.INTENT_STALE: ("intent_id", "attempt", "because_seq", "from"),
    EventType.INTENT_FINAL: ("intent_id", "attempt", "because_seq", "from"),
    EventType.DISPATCH_STARTED: ("intent_id", "attempt", "worker", "epoch", "effect", "release", "inside"),
    EventType.DISPATCH_SETTLED: ("intent_id", "attempt", "status", "unsent", "tries"),
    EventType.DISPATCH_EXPIRED: ("intent_id", "attempt", "because", "retry_at", "since"),
    EventType.DISPATCH_IN_DOUBT: ("intent_id", "attempt", "because"),
    EventType.DISPATCH_PROBED: ("intent_id", "attempt", "verdict", "tool", "because"),
    EventType.DISPATCH_RESOLVED: ("intent_id", "attempt", "status", "by"),
    EventType.DISPATCH_LATE: ("intent_id", "attempt", "status"),
}

# What a person says may spell what the call spells, and the fold reads it.
_SAID_BY_PEOPLE: Mapping[EventType, Mapping[str, None]] = {
    EventType.INTENT_APPROVED: {"arguments_digest": None, "note": None},
    EventType.INTENT_DENIED: {"reason": None},
}


def of_intent(event: Event, name_stays: NameStays) -> Payload | None:
    """What remains of an event about an intent; None where it holds nothing else, and stays. An ``intent.held`` never does."""
    body = event.payload
    if event.type is EventType.INTENT_CALL_ID:
        return {"intent_id": body["intent_id"], "call_id": None}
    kept: dict[str, object] = {name: body[name] for name in _KEPT.get(event.type, ()) if name in body}
    if event.type is EventType.INTENT_HELD:
        tool = body.get("tool")
        kept |= {"tool": tool if isinstance(tool, str) and name_stays(tool) else None}
        kept |= {"arguments_raw": None, "arguments_digest": None}
    kept |= _SAID_BY_PEOPLE.get(event.type, {})
    footprint = body.get("footprint")
    if isinstance(footprint, Mapping):
        kept["footprint"] = {"reads": None, "writes": None, "upstream": footprint["upstream"]}
    return None if kept == dict(body) and event.type is not EventType.INTENT_HELD else kept


def of_tokens(event: Event, before: Branch) -> Payload:
    """What remains of ``tokens.drafted``, ``tokens.accepted`` or ``tokens.ruled``; ``before``: its branch until then."""
    body: Body = event.payload
    if event.type is EventType.TOKENS_RULED:
        return _of_ruling(body, before)
    kept = {name: body[name] for name in ("round", "start") if name in body}
    return {**kept, "tokens": [_BLANK] * len(body["tokens"])}


def compared_draft(event: Event, before: Branch) -> int | None:
    """Seq of the event that brought the draft to which a ruling's own token is compared; None where none is."""
    body: Body = event.payload
    rest = before.pending[body["accepted"] :]
    whole = body["accepted"] == body["end"] - body["start"]
    return rest[0].seq if whole and rest and body.get("token") is not None else None


def _of_ruling(body: Body, before: Branch) -> Payload:
    """Blank tokens cannot be compared: what the comparison came to is said by the numbers, as one more judged draft."""
    end, accepted = body["end"], body["accepted"]
    own = body.get("token")
    rest = before.pending[accepted:]
    if own is not None and accepted == end - body["start"] and rest:
        end += 1
        if spelled(own).equals(rest[0]):
            accepted += 1
            own = None
    kept: dict[str, object] = {
        "round": body["round"],
        "start": body["start"],
        "end": end,
        "accepted": accepted,
    }
    return kept if own is None else {**kept, "token": _BLANK}
