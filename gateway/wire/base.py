"""What all requests share: strict shapes, no unknown members, numbers that every JSON reader holds exactly."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from effects.strict_json import MAX_INTEGER

COMMIT_KEY_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
_COMMIT_KEY = re.compile(COMMIT_KEY_PATTERN[1:-1])

CommitKey = Annotated[str, Field(pattern=COMMIT_KEY_PATTERN)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
"""A name that a caller makes up: of a branch, a batch, a drafter, a ruling."""

Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
"""A position, a number of tokens, a round, a token id, a seq."""

JSONObject = dict[str, JsonValue]


class Request(BaseModel):
    """A request body: types are never converted, unknown members are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, regex_engine="rust-regex")


class Answer(BaseModel):
    """The shape of an answer, for the OpenAPI document and for clients. More members may come with time."""

    model_config = ConfigDict(frozen=True)


def is_commit_key(text: str) -> bool:
    """Whether a stream could have this commit key."""
    return _COMMIT_KEY.fullmatch(text) is not None
