"""``POST /v1/streams/{key}/events``: token events (interface.md, "Token events")."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator

from gateway.errors import NotSupported
from gateway.turn.tokens import TokenEvent
from gateway.wire.base import Count, JSONObject, Name, Request
from ledger.events import EventType

MAX_TOKENS = 10_000
"""Tokens of one batch."""

MAX_EVENTS = 1_000
"""Events of one batch."""

ENVELOPE = frozenset({"seq", "at", "intent_id", "attempt", "redacted"})
"""What stands beside a payload where events are read, so that no payload may bring it."""

_UNBUILT = frozenset(
    {
        "branch.voted",
        "binding.attached",
        "binding.probation",
        "binding.verified",
        "binding.suspected",
        "binding.rejected",
    }
)


class Token(Request):
    """One token. ``text`` may be empty: it withholds incomplete UTF-8 until the token that completes it."""

    text: str
    id: Count | None = None
    drafter: Name | None = None


Tokens = Annotated[list[Token], Field(min_length=1, max_length=MAX_TOKENS)]


class Drafted(Request):
    """``tokens.drafted``: proposals behind the drafted end."""

    type: Literal["tokens.drafted"]
    branch: Name = "main"
    round: Count
    start: Count
    tokens: Tokens


class Ruled(Request):
    """``tokens.ruled``: the verdict on the drafts [start, end). Further members are kept for auditors."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: JSONObject = Field(init=False)

    type: Literal["tokens.ruled"]
    branch: Name = "main"
    round: Count
    start: Count
    end: Count
    accepted: Count
    token: Token | None = None
    window_digest: Name | None = None
    binding: Name | None = None

    @model_validator(mode="after")
    def _envelope_is_ours(self) -> Self:
        taken = sorted(ENVELOPE & self.__pydantic_extra__.keys())
        if taken:
            raise ValueError(f"a ruling has no member {taken[0]}")
        return self


class Accepted(Request):
    """``tokens.accepted``: tokens that were never drafted."""

    type: Literal["tokens.accepted"]
    branch: Name = "main"
    round: Count
    tokens: Tokens
    ruling_id: Name | None = None


class Finished(Request):
    """``stream.finished``: nothing follows."""

    type: Literal["stream.finished"]
    reason: Literal["stop", "length", "error", "cancelled"]


AnyEvent = Annotated[Drafted | Ruled | Accepted | Finished, Field(discriminator="type")]


class WriteEvents(Request):
    """The body: written whole or not at all. The same ``batch_id`` with the same bytes is a replay."""

    writer_epoch: Annotated[Count, Field(ge=1)]
    batch_id: Name | None = None
    events: Annotated[list[AnyEvent], Field(min_length=1, max_length=MAX_EVENTS)]

    @field_validator("events")
    @classmethod
    def _bounded(cls, events: list[AnyEvent]) -> list[AnyEvent]:
        if sum(len(event.tokens) for event in events if isinstance(event, Drafted | Accepted)) > MAX_TOKENS:
            raise ValueError(f"a batch holds at most {MAX_TOKENS} tokens")
        return events

    def token_events(self) -> list[TokenEvent]:
        """The events as they are decided about: members as sent, nulls left out."""
        return [_token_event(event) for event in self.events]


def _token_event(event: AnyEvent) -> TokenEvent:
    payload = event.model_dump(exclude_none=True, exclude={"type", "branch"})
    branch = "main" if isinstance(event, Finished) else event.branch
    return TokenEvent(EventType(event.type), payload, branch)


def refuse_unbuilt_events(body: JsonValue) -> None:
    """Raise ``NotSupported`` for event types of interface.md that are not built yet. Shapes are not judged here."""
    events = body.get("events") if isinstance(body, dict) else None
    for index, event in enumerate(events if isinstance(events, list) else []):
        type_ = event.get("type") if isinstance(event, dict) else None
        if isinstance(type_, str) and type_ in _UNBUILT:
            raise NotSupported(f"events of type {type_} are not supported yet", path=f"events[{index}].type")
