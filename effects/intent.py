"""The states of a block, an intent and a stream's end (design.md, "Life of an intent")."""

from enum import StrEnum


class BlockState(StrEnum):
    """What the verifier has decided about a call block as a whole."""

    UNDECIDED = "undecided"
    CLEARED = "cleared"
    VOIDED = "voided"


class IntentState(StrEnum):
    """Where one tool call stands."""

    HELD = "held"
    AWAITING_APPROVAL = "awaiting_approval"
    RELEASED = "released"
    DISPATCHED = "dispatched"
    SETTLED = "settled"
    IN_DOUBT = "in_doubt"
    VOIDED = "voided"
    REFUSED = "refused"
    DENIED = "denied"


class Release(StrEnum):
    """Why a call was let go: on drafts (``early``) or on accepted tokens (``committed``)."""

    EARLY = "early"
    COMMITTED = "committed"


class ResultStatus(StrEnum):
    """What a dispatch came to."""

    OK = "ok"
    TOOL_ERROR = "tool_error"
    UNAVAILABLE = "unavailable"
    NOT_HAPPENED = "not_happened"
    HAPPENED_UNKNOWN_RESULT = "happened_unknown_result"


class StreamEnd(StrEnum):
    """How a stream ended, as the gate sees it: not yet, in good order, or broken off."""

    OPEN = "open"
    COMPLETED = "completed"
    ABORTED = "aborted"


_ENDS = {
    "stop": StreamEnd.COMPLETED,
    "length": StreamEnd.COMPLETED,
    "error": StreamEnd.ABORTED,
    "cancelled": StreamEnd.ABORTED,
}


def stream_end(reason: str | None) -> StreamEnd:
    """What the finish reason of a stream (None: not finished) means to the gate. KeyError on an unknown reason."""
    return StreamEnd.OPEN if reason is None else _ENDS[reason]


def is_terminal(state: IntentState, *, final: bool) -> bool:
    """Whether a call is over: final, voided, refused or denied. In doubt is not (design.md, "Order")."""
    return final or state in (IntentState.VOIDED, IntentState.REFUSED, IntentState.DENIED)
