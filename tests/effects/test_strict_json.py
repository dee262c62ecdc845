"""Strict JSON: read as everyone reads it, or refused under a stable code."""

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effects.strict_json import MAX_DEPTH, MAX_INTEGER, JSONRefused, JSONValue, members, parse

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


def code_of(text: str) -> str:
    with pytest.raises(JSONRefused) as refused:
        parse(text)
    assert str(refused.value) == f"{refused.value.code}: {refused.value.detail}"
    refused.value.detail.encode()  # printable whatever the text held
    return refused.value.code


@settings(max_examples=200)
@given(values, st.booleans(), st.sampled_from([None, 2]))
def test_reads_what_others_write(value: JSONValue, ascii_only: bool, indent: int | None) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only, indent=indent)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" \t\r\n1 ", 1),
        ("-0", 0),
        ("1.0", 1.0),
        ("1e300", 1e300),
        ("9007199254740993.0", 9007199254740992.0),
        ("9007199254740991", MAX_INTEGER),
        ("-9007199254740991", -MAX_INTEGER),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\\ud800"', r"\ud800"),
        ('"\x7f"', "\x7f"),
        ('{"a": {"a": 1}, "A": 2}', {"a": {"a": 1}, "A": 2}),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
        ('"' + "[" * 1000 + '"', "[" * 1000),
        (r'"\"[[' + "[" * 1000 + '"', '"[[' + "[" * 1000),
    ],
)
def test_reads_the_edge_of_what_is_allowed(text: str, value: JSONValue) -> None:
    read = parse(text)
    if value is not None:
        assert read == value
        assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "json_syntax"),
        (" ", "json_syntax"),
        ("{} {}", "json_syntax"),
        ("{}x", "json_syntax"),
        ("{'a': 1}", "json_syntax"),
        ("[1,]", "json_syntax"),
        ("01", "json_syntax"),
        ("+1", "json_syntax"),
        (".5", "json_syntax"),
        ("\u0661", "json_syntax"),
        ("\ufeff{}", "json_syntax"),
        ("\u00a0{}", "json_syntax"),
        ('"a\nb"', "json_syntax"),
        ('"a', "json_syntax"),
        ('"\\', "json_syntax"),
        (r'"\x41"', "json_syntax"),
        ("// c\n1", "json_syntax"),
        ('{"a": 1, "a": 2}', "json_duplicate_name"),
        (r'{"a": 1, "\u0061": 1}', "json_duplicate_name"),
        ('[{"b": {"a": 1, "a": 1}}]', "json_duplicate_name"),
        ("NaN", "json_not_finite"),
        ("[Infinity]", "json_not_finite"),
        ("-Infinity", "json_not_finite"),
        ("1e400", "json_not_finite"),
        ("-1e400", "json_not_finite"),
        ("1" + "0" * 400 + ".0", "json_not_finite"),
        ("9007199254740992", "json_integer_range"),
        ("-9007199254740992", "json_integer_range"),
        ("1" * 10_000, "json_integer_range"),
        (r'"\ud800"', "json_surrogate"),
        (r'"\ude00\ud83d"', "json_surrogate"),
        (r'["x", {"y": ["\uDC00"]}]', "json_surrogate"),
        (r'{"\uD800": 1}', "json_surrogate"),
        ('"\ud800"', "json_surrogate"),
        ('"\\ud83d\ude00"', "json_surrogate"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "json_too_deep"),
        ('{"a":' * 100_000, "json_too_deep"),
    ],
)
def test_refuses(text: str, code: str) -> None:
    assert code_of(text) == code


@pytest.mark.parametrize("early", ["NaN", "1e400", "9007199254740992", r'"\ud800"', '{"a":1,"a":2}'])
def test_syntax_is_judged_before_values(early: str) -> None:
    assert code_of(f"[{early}, }}") == "json_syntax"
    assert code_of(f"[{early}] x") == "json_syntax"


def test_first_refusal_is_the_one_told() -> None:
    assert code_of("[NaN, 9007199254740992]") == "json_not_finite"
    assert code_of("[9007199254740992, NaN]") == "json_integer_range"


def test_a_refusal_can_be_pickled() -> None:
    refused = JSONRefused("json_syntax", "why")
    copy = pickle.loads(pickle.dumps(refused))
    assert (copy.code, copy.detail, str(copy)) == ("json_syntax", "why", str(refused))


def test_members_keep_the_spelling() -> None:
    text = ' { "b" : {"x":1.10, "y" :[ 1 ]} ,\n"\\u0061":  "\\u00e9" , "c":-0.0e5}\t'
    found = members(text)
    assert [(m.name, m.raw) for m in found] == [
        ("b", '{"x":1.10, "y" :[ 1 ]}'),
        ("a", '"\\u00e9"'),
        ("c", "-0.0e5"),
    ]
    assert found[1].value == "é"
    assert members(" {\n} ") == ()


@settings(max_examples=200)
@given(st.dictionaries(st.text(), values, max_size=5), st.booleans(), st.sampled_from([None, 1]))
def test_members_agree_with_parse(value: dict[str, JSONValue], ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    found = members(text)
    assert {m.name: m.value for m in found} == {m.name: parse(m.raw) for m in found} == parse(text)
    assert all(m.raw in text and m.raw == m.raw.strip() for m in found)


@settings(max_examples=500)
@given(
    st.lists(
        st.sampled_from(
            ['{"a":', '"b"', ":", ",", "}", "{", "[", "]", "1", "NaN", " ", '"', "\\", '{"a":1', "x"]
        )
    ).map("".join)
)
def test_members_and_parse_refuse_the_same_syntax(text: str) -> None:
    def refusal(read: object) -> str | None:
        try:
            read(text)  # type: ignore[operator]
        except JSONRefused as refused:
            return refused.code
        return None

    unreadable = {"json_syntax", "json_too_deep"}
    assert (refusal(parse) in unreadable) == (refusal(members) in unreadable)
    if refusal(members) == "json_not_an_object":
        assert not text.strip().startswith("{")


def test_members_keep_a_refusal_with_its_member() -> None:
    good, bad = members('{"a": [1], "b": {"x": 1, "x": 2}}')
    assert good.refusal is None
    assert bad.refusal is not None
    assert bad.refusal.code == "json_duplicate_name"
    assert bad.raw == '{"x": 1, "x": 2}'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[]", "json_not_an_object"),
        ("NaN", "json_not_an_object"),
        ("[", "json_syntax"),
        ('{"a": 1,}', "json_syntax"),
        ('{"a" 1}', "json_syntax"),
        ("{1: 1}", "json_syntax"),
        ('{"a": 1} 2', "json_syntax"),
        ('{"a": 1, "a": 2', "json_syntax"),
        (r'{"a": 1, "\u0061": 2}', "json_duplicate_name"),
        (r'{"\ud800": 1}', "json_surrogate"),
        ('{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}", "json_too_deep"),
    ],
)
def test_members_refuse(text: str, code: str) -> None:
    with pytest.raises(JSONRefused) as refused:
        members(text)
    assert refused.value.code == code
