"""The elements of an array, each as it is spelled."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effects.strict_json import MAX_DEPTH, JSONRefused, elements

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=5), st.sampled_from(["", " ", "\n\t"]))
def test_every_element_keeps_its_bytes(array: list[object], space: str) -> None:
    spelled = [json.dumps(value) for value in array]
    text = space + "[" + ",".join(f"{space}{one}{space}" for one in spelled) + space + "]" + space
    assert elements(text) == tuple(spelled)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "json_syntax"),
        ("[", "json_syntax"),
        ("[1,]", "json_syntax"),
        ("[,1]", "json_syntax"),
        ("[1 2]", "json_syntax"),
        ("[1] 2", "json_syntax"),
        ("['a']", "json_syntax"),
        ("{}", "json_not_an_array"),
        ("1", "json_not_an_array"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "json_too_deep"),
    ],
)
def test_what_is_no_array_is_refused(text: str, code: str) -> None:
    with pytest.raises(JSONRefused) as refused:
        elements(text)
    assert refused.value.code == code


def test_values_are_left_to_whoever_reads_an_element() -> None:
    assert elements('[NaN, 1e999, {"a": 1, "a": 2}]') == ("NaN", "1e999", '{"a": 1, "a": 2}')
