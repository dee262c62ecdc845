"""What a call belongs to, for the function that runs it."""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. ``idempotency_key`` None: it is a read. ``arguments_raw``: the JSON that was accepted, byte for byte."""

    commit_key: str
    intent_id: str
    idempotency_key: str | None
    traceparent: str | None
    arguments_raw: str


_CURRENT: ContextVar[ToolCall] = ContextVar("commitgate_tool_call")


def current_call() -> ToolCall:
    """The call that runs now. LookupError outside of one."""
    return _CURRENT.get()


def begin(call: ToolCall) -> None:
    """``call`` runs from now on."""
    _CURRENT.set(call)
