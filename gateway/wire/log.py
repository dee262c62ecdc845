"""The sealed log as callers see it. Hashes are in hex, lower case."""

from datetime import datetime

from pydantic import ConfigDict, Field

from gateway.wire.base import Answer, JSONObject


class SealedEventView(Answer):
    """One event and its place in the log: what all events have, and beside it the members of its payload.

    ``redacted``: the payload was taken away; there is only what remains of it.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: JSONObject = Field(init=False)

    index: int
    commit_key: str
    seq: int
    type: str
    branch: str | None
    at: datetime
    intent_id: str | None = None
    attempt: int | None = None
    redacted: bool = False


class FeedView(Answer):
    """Events in log order. ``cursor``: where to go on; ``more``: the log goes on, also behind an empty page."""

    events: list[SealedEventView]
    cursor: str
    more: bool


class CheckpointView(Answer):
    """The newest checkpoint: the C2SP signed note, and what it says."""

    checkpoint: str
    origin: str
    size: int
    root: str
    at: datetime


class InclusionView(Answer):
    """Proof that an event stands at ``index`` in the tree of ``size`` leaves that ``checkpoint`` signs for.

    ``leaf_hash`` is SHA-256 of a zero byte and ``envelope``; ``path``: sibling hashes from the leaf upwards (RFC 9162).
    """

    index: int
    size: int
    leaf_hash: str
    envelope: str
    path: list[str]
    checkpoint: str


class ConsistencyView(Answer):
    """Proof that the log of ``to`` events begins with that of ``from`` events (RFC 9162)."""

    from_: int = Field(alias="from")
    to: int
    path: list[str]
