"""Streams and intents as callers see them (interface.md, "An intent")."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from effects.classes import EffectClass
from effects.intent import BlockState, IntentState, Release, ResultStatus
from gateway.wire.base import Answer, JSONObject


class FootprintView(Answer):
    """Resource keys read and written; null: undeclared. ``upstream``: what an undeclared footprint overlaps."""

    reads: list[str] | None
    writes: list[str] | None
    upstream: str | None = None


class ResultView(Answer):
    """What came back from the tool."""

    status: ResultStatus
    content: JsonValue


class AskedView(Answer):
    """What a person is asked about: the call as it would be sent. ``upstream``: as the effect table spells it. ``definition``:
    digest of what the table, in this version, says of the tool; an approval is good for that alone. Null: not recorded.
    """

    because: str | None
    effect: EffectClass
    effect_version: int
    footprint: FootprintView | None
    upstream: JSONObject | None
    definition: str | None


class ApprovalView(Answer):
    """What a person said: the call may be sent once, if it is claimed before it expires."""

    by: str
    note: str | None
    expires_at: datetime


class IntentView(Answer):
    """One tool call and what has become of it. ``result`` is there once it is final.

    ``redacted``: arguments, names and answer were taken away. ``detail``: more about ``reason``; of refused arguments the
    ``path`` and ``because``. ``asked``: what a person was asked about when that was last so.
    """

    commit_key: str
    intent_id: str
    branch: str
    round: int
    span: tuple[int, int]
    ordinal: int
    block: BlockState
    tool: str | None
    arguments: JsonValue
    arguments_digest: str | None
    call_id: str | None
    effect: EffectClass
    effect_version: int
    footprint: FootprintView
    state: IntentState
    reason: str | None
    release: Release | None
    final: bool
    stale: bool
    attempts: int
    idempotency_key: str | None
    adopted_from: str | None
    redacted: bool = False
    asked: AskedView | None = None
    approval: ApprovalView | None = None
    detail: JSONObject | None = None
    result: ResultView | None = None


class BranchStanding(Answer):
    """Where a branch stands: accepted tokens, accepted and pending ones, number of rejections."""

    head: int
    drafted_end: int
    round: int


class BranchView(BranchStanding):
    """``text``: what the accepted tokens spell; ``ids``: theirs, where asked for.

    ``redacted``: spans of tokens whose texts and ids were taken away; they are missing in ``text``, and null in ``ids``.
    """

    text: str
    redacted: list[tuple[int, int]] | None = None
    ids: list[int | None] | None = None


class StreamOpened(Answer):
    """Where the stream stands for its new writer."""

    commit_key: str
    writer_epoch: int
    seq: int
    branches: dict[str, BranchStanding]


class StreamView(Answer):
    """A whole stream."""

    commit_key: str
    writer_epoch: int
    seq: int
    branches: dict[str, BranchView]
    intents: list[IntentView]
    finished: Literal["stop", "length", "error", "cancelled"] | None
    parent: str | None
    fork_of: str | None
    labels: JSONObject


class EventsWritten(Answer):
    """Where the stream stands after a batch, and every intent that it changed."""

    seq: int
    branches: dict[str, BranchStanding]
    intents: list[IntentView]


class EventView(Answer):
    """One event: what all events have, and beside it the members of its payload.

    ``redacted``: the payload was taken away; there is only what remains of it.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: JSONObject = Field(init=False)

    seq: int
    type: str
    branch: str | None
    at: datetime
    intent_id: str | None = None
    attempt: int | None = None
    redacted: bool = False


class EventsView(Answer):
    """Events in order; ``seq`` is the stream's."""

    events: list[EventView]
    seq: int


class Alive(Answer):
    """Nothing is wrong."""

    status: Literal["ok"]
