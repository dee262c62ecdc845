"""``/v1/doubts``: dispatches that may or may not have happened, and the word of a person that settles them."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from gateway.wire.base import Answer, Request
from gateway.wire.views import IntentView


class DoubtsView(Answer):
    """Every intent in doubt."""

    doubts: list[IntentView]


class ResolveDoubt(Request):
    """The body. ``evidence``: any JSON value that supports it."""

    verdict: Annotated[Literal["happened", "not_happened"], Field(alias="as")]
    reason: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"\S")]
    evidence: JsonValue = None
