import pytest
from pydantic import ValidationError

from effects.masks import MASKED, masked
from effects.tool import Tool

VALUE = {
    "card_number": "1",
    "a": {"card_number": ["2"], "b": 3, "c": [{"d": 4}, {"d": 5, "e": 6}]},
    "n": [7, 8],
}


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        ("card_number", {"1", "2"}),
        ("$.card_number", {"1"}),
        ("$.a", {"2", 3, 4, 5, 6}),
        ("$.a.b", {3}),
        ("$.a.c.*.d", {4, 5}),
        ("$.a.c.1.d", {5}),
        ("$.*.b", {3}),
        ("$.n.*", {7, 8}),
        ("$.nothing", set()),
        ("$.a.b.deeper", set()),
    ],
)
def test_what_a_path_leads_to_is_masked_and_nothing_else(path: str, gone: set[object]) -> None:
    assert leaves(VALUE) - leaves(masked(VALUE, [path])) == gone
    assert leaves(masked(VALUE, [path])) - leaves(VALUE) <= {MASKED}


def leaves(value: object) -> set[object]:
    if isinstance(value, dict):
        return set().union(*map(leaves, value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*map(leaves, value)) if value else set()
    return {value}


def test_paths_add_up_and_the_value_itself_stays() -> None:
    assert masked({"a": {"b": 1, "c": 2, "d": 3}}, ["b", "$.a.c"]) == {
        "a": {"b": MASKED, "c": MASKED, "d": 3}
    }
    assert VALUE["card_number"] == "1"


@pytest.mark.parametrize("path", ["", "$", "$.", "$.a..b", "a.b", "*", "a b", "$.a b", "$a"])
def test_nothing_else_is_a_path(path: str) -> None:
    with pytest.raises(ValidationError):
        Tool.model_validate({"effect": "READ_ONLY", "upstream": {"http": "http://x/y"}, "mask": (path,)})
