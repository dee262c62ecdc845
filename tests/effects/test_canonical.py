"""Canonical JSON: the examples of RFC 8785, digests, and the codes of what has no canonical form."""

import hashlib
import math

import pytest
import rfc8785
from hypothesis import given, settings

from effects.canonical import canonical, canonical_of_plain, digest, from_canonical
from effects.strict_json import JSONRefused, JSONValue, parse
from tests.effects.test_strict_json import values


def test_example_of_rfc_8785_section_3_2() -> None:
    text = (
        '{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],'
        r'"string": "\u20ac$\u000F\u000aA'
        + "'"
        + r'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}'
    )
    assert canonical(parse(text)).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        r'"string":"€$\u000f\nA' + "'" + r'B\"\\\\\"/"}'
    )


def test_names_are_sorted_by_utf16_units() -> None:
    assert canonical({"\ufb33": 1, "😀": 2, "a": 3, "": 4}).decode() == '{"":4,"a":3,"😀":2,"\ufb33":1}'


def test_digest_is_that_of_the_canonical_bytes_and_equal_for_equal_values() -> None:
    assert digest({"b": 1, "a": [2.0]}) == "sha256:" + hashlib.sha256(b'{"a":[2],"b":1}').hexdigest()
    assert digest(parse('{"b":1e0,"a":[2]}')) == digest({"a": [2.0], "b": 1})
    assert digest({"a": "1"}) != digest({"a": 1})


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (2**53, "json_integer_range"),
        ([-(2**53)], "json_integer_range"),
        (math.nan, "json_not_finite"),
        ({"a": -math.inf}, "json_not_finite"),
        ("\ud800", "json_surrogate"),
        ({"\udfff": 1}, "json_surrogate"),
        ({1: 1}, "json_unsupported_type"),
        (b"bytes", "json_unsupported_type"),
        ([{1, 2}], "json_unsupported_type"),
    ],
)
def test_refuses_under_a_code(value: object, code: str) -> None:
    for refuses in (canonical, digest):
        with pytest.raises(JSONRefused) as refused:
            refuses(value)
        assert refused.value.code == code


def test_a_value_that_holds_itself_is_too_deep() -> None:
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises(JSONRefused) as refused:
        canonical(ring)
    assert refused.value.code == "json_too_deep"


@settings(max_examples=300)
@given(values)
def test_canonical_bytes_can_be_read_back(value: JSONValue) -> None:
    spelled = canonical(value)
    assert canonical(from_canonical(spelled)) == spelled
    assert from_canonical(spelled.decode()) == value


def test_large_doubles_are_read_back_as_doubles() -> None:
    spelled = canonical({"x": 1e16})
    assert spelled == b'{"x":10000000000000000}'
    assert canonical(from_canonical(spelled)) == spelled
    with pytest.raises(JSONRefused, match="json_integer_range"):
        parse(spelled.decode())


@given(values)
@settings(max_examples=1000)
def test_the_quick_way_writes_what_rfc_8785_says_or_declines(value: JSONValue) -> None:
    quick = canonical_of_plain(value)
    assert quick is None or quick == rfc8785.dumps(value)
    assert quick is None or from_canonical(quick) == value


@pytest.mark.parametrize(
    "value", [1.0, [math.nan], {"a": {"b": 1e16}}, {"😀": 1}, (1,), 2**53, "\ud800", b"b"]
)
def test_the_quick_way_declines_what_it_would_write_otherwise(value: object) -> None:
    assert canonical_of_plain(value) is None


def test_every_control_character_is_escaped_alike_both_ways() -> None:
    text = "".join(map(chr, range(0x2100)))
    assert canonical_of_plain({text: [text]}) == rfc8785.dumps({text: [text]})


@pytest.mark.parametrize("value", ["1e400", "-1e400", "NaN", "Infinity", '"\\ud800"', "1" * 400])
def test_what_no_json_can_say_is_not_read_back(value: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several kinds
        from_canonical(f'{{"a":{value}}}')
