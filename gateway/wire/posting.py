"""``POST /v1/streams/{key}/intents``: one tool call of one block, as a runtime reads it."""

from typing import Annotated

from pydantic import Field, field_validator

from gateway.turn.posting import PostedIntent
from gateway.wire.base import Count, JSONObject, Name, Request


class PostIntent(Request):
    """The body. ``span``: [start, end) in token positions. ``round`` may be left out once the block is decided."""

    branch: Name = "main"
    round: Count | None = None
    span: Annotated[list[Count], Field(min_length=2, max_length=2, examples=[[12, 31]])]
    ordinal: Count = 0
    tool: Annotated[str, Field(min_length=1)]
    arguments: JSONObject
    call_id: Annotated[str, Field(min_length=1, max_length=512)] | None = None

    @field_validator("span")
    @classmethod
    def _not_empty(cls, span: list[int]) -> list[int]:
        if span[0] >= span[1]:
            raise ValueError("a span ends behind its start")
        return span

    def posted(self) -> PostedIntent:
        """What is to be held."""
        start, end = self.span
        return PostedIntent(
            branch=self.branch,
            round=self.round,
            start=start,
            end=end,
            ordinal=self.ordinal,
            tool=self.tool,
            arguments=self.arguments,
            call_id=self.call_id,
        )
