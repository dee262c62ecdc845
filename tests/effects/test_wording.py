"""Words for people."""

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from effects.wording import counted, fault_said


class _Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class _A(BaseModel):
    kind: Literal["a"]


class _B(BaseModel):
    kind: Literal["b"]


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    odd: int = 1

    @field_validator("odd")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("an even number")
        return value


CASES: list[tuple[Any, object, str]] = [
    (str, 1, "must be a string"),
    (int, "x", "must be an integer"),
    (int, None, "must be an integer"),
    (int, 1.5, "must be an integer"),
    (float, "x", "must be a number"),
    (Annotated[float, Field(allow_inf_nan=False)], float("nan"), "must be a finite number"),
    (bool, "perhaps", "must be true or false"),
    (dict[str, int], 1, "must be an object"),
    (_A, 1, "must be an object"),
    (list[int], 1, "must be a list"),
    (tuple[int, ...], 1, "must be a list"),
    (None, 1, "must be null"),
    (Path, 1, "must be a path"),
    (datetime, "yesterday", "must be a time, as 2026-01-31T12:00:00Z"),
    (_Colour, "green", "must be 'red' or 'blue'"),
    (Literal["stop", "length"], "bored", "must be 'stop' or 'length'"),
    (Annotated[int, Field(gt=3)], 3, "must be more than 3"),
    (Annotated[int, Field(ge=3)], 2, "must be at least 3"),
    (Annotated[int, Field(lt=3)], 3, "must be less than 3"),
    (Annotated[int, Field(le=3)], 4, "must be at most 3"),
    (Annotated[str, Field(pattern="^a{2}$")], "b", "must match ^a{2}$"),
    (Annotated[str, Field(min_length=1)], "", "must have at least 1 character"),
    (Annotated[str, Field(max_length=2)], "xxx", "must have at most 2 characters"),
    (Annotated[list[int], Field(min_length=1)], [], "must have at least 1 element"),
    (Annotated[list[int], Field(max_length=2)], [1, 2, 3], "must have at most 2 elements"),
    (Annotated[_A | _B, Field(discriminator="kind")], {"kind": "c"}, "'kind' must be one of 'a', 'b'"),
    (Annotated[_A | _B, Field(discriminator="kind")], {}, "'kind' is missing"),
    (_A, {}, "missing"),
    (_Checked, {"even": 1}, "unknown field"),
    (_Checked, {"odd": 2}, "an even number"),
]


@pytest.mark.parametrize(("shape", "value", "said"), CASES)
def test_what_does_not_fit_was_told_in_the_words_of_a_library(shape: Any, value: object, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(shape).validate_python(value)
    fault = refused.value.errors(include_url=False)[0]
    assert fault_said(fault) == said
    bare = {name: fault[name] for name in ("type", "loc", "msg")}
    assert fault_said(bare), "without its context a fault is told all the same"


def test_a_fault_that_no_words_are_kept_for_is_told() -> None:
    assert fault_said({"type": "new_one", "msg": "Input should be blue"}) == "must be blue"


def test_one_tool_is_not_called_1_tools() -> None:
    assert [counted(n, "tool") for n in (0, 1, 2)] == ["0 tools", "1 tool", "2 tools"]
