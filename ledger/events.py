"""Events: the facts of one stream, in the order of their ``seq``.

A stream is named by (tenant, commit key). An event is written once and never changed; what it says is its ``type`` and
its ``payload``; the typed columns repeat what database constraints and auditors' queries need without opening the payload.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

Payload = Mapping[str, object]
"""A JSON object whose values are JSON values (checked when it is written: RFC 8785 refuses anything else)."""

EFFECTS_STREAM = "_effects"
"""The reserved stream of each tenant that holds ``effects.changed``; no commit key can be spelled like it."""


class EventType(StrEnum):
    """Every kind of event (design.md "Words", interface.md "Event types")."""

    STREAM_OPENED = "stream.opened"
    STREAM_TAKEN_OVER = "stream.taken_over"
    TOKENS_DRAFTED = "tokens.drafted"
    TOKENS_RULED = "tokens.ruled"
    TOKENS_ACCEPTED = "tokens.accepted"
    DRAFTS_VOIDED = "drafts.voided"
    STREAM_FINISHED = "stream.finished"
    BLOCK_CLEARED = "block.cleared"
    BLOCK_VOIDED = "block.voided"
    INTENT_HELD = "intent.held"
    INTENT_RELEASED = "intent.released"
    INTENT_REFUSED = "intent.refused"
    INTENT_VOIDED = "intent.voided"
    INTENT_AWAITING_APPROVAL = "intent.awaiting_approval"
    INTENT_APPROVED = "intent.approved"
    INTENT_DENIED = "intent.denied"
    INTENT_ADOPTED = "intent.adopted"
    INTENT_CALL_ID = "intent.call_id"
    INTENT_STALE = "intent.stale"
    INTENT_FINAL = "intent.final"
    DISPATCH_STARTED = "dispatch.started"
    DISPATCH_SETTLED = "dispatch.settled"
    DISPATCH_EXPIRED = "dispatch.expired"
    DISPATCH_IN_DOUBT = "dispatch.in_doubt"
    DISPATCH_PROBED = "dispatch.probed"
    DISPATCH_RESOLVED = "dispatch.resolved"
    DISPATCH_LATE = "dispatch.late"
    EFFECTS_CHANGED = "effects.changed"
    PAYLOAD_REDACTED = "payload.redacted"


def type_as_written(text: str) -> EventType:
    """The type of this name; where none is called so, one that only spells it."""
    try:
        return EventType(text)
    except ValueError:
        unknown = str.__new__(EventType, text)
        unknown._name_ = "UNKNOWN"
        unknown._value_ = text
        return unknown


class NewEvent(NamedTuple):
    """An event that a decision asks for; it has no place in the stream yet.

    ``head_after``: number of accepted tokens of ``branch`` after this event (token events only).
    ``cut_at``: first rejected position, where the event rejects drafts; None where it rejects nothing.
    """

    type: EventType
    payload: Payload
    branch: str | None = None
    intent_id: str | None = None
    attempt: int | None = None
    head_after: int | None = None
    cut_at: int | None = None


class Event(NamedTuple):
    """A recorded event: ``seq`` counts from 1 within its stream, without gaps; ``at`` is for people, never for order.

    ``redacted``: its payload is gone; what stands here in its place is what remains of it (``ledger.redaction``).
    ``unreadable``: its payload is no JSON object or has a member of another kind than ours (``ledger.kinds``), or its type is
    none of ours: somebody wrote past the ledger. The payload reads as an empty object then, and the type as it was written.
    """

    seq: int
    at: datetime
    type: EventType
    payload: Payload
    branch: str | None = None
    intent_id: str | None = None
    attempt: int | None = None
    head_after: int | None = None
    cut_at: int | None = None
    redacted: bool = False
    unreadable: bool = False
