"""Arrays with an ordinal for each call, and names with their arguments behind a marker."""

import pytest

from decoding.calls.block import Call
from decoding.calls.formats import detector_for
from decoding.calls.scan import scan
from tests.decoding.calls.test_formats import outcomes

DETECTOR = detector_for("mistral")
ARRAY = '[TOOL_CALLS] [{"name": "a", "arguments": {"x": [1, "]"]}}, {"arguments": {}, "name": "b", "id": "VvvODy9mT"}]'


def test_the_calls_of_an_array_share_a_block() -> None:
    (block,) = scan(DETECTOR, list("Now " + ARRAY + "</s>"))
    assert (block.start, block.end) == (4, 4 + len(ARRAY))
    assert block.calls == (Call(0, "a", '{"x": [1, "]"]}'), Call(1, "b", "{}"))


def test_ordinals_go_on_where_two_arrays_begin_in_one_token() -> None:
    first, second = scan(DETECTOR, [ARRAY + ARRAY])
    assert [call.ordinal for call in first.calls + second.calls] == [0, 1, 2, 3]
    first, second = scan(DETECTOR, [ARRAY, ARRAY])
    assert [call.ordinal for call in first.calls + second.calls] == [0, 1, 0, 1]


def test_one_bad_call_of_an_array_leaves_the_others() -> None:
    good, empty = ('{"name": "' + name + '", "arguments": {}}' for name in ("a", ""))
    large = good.replace('"a"', '"c"').replace("{}", '{"n": 1e999}')
    text = f"[TOOL_CALLS][{good}, 7, {empty}, {large}]"
    assert outcomes(scan(DETECTOR, list(text))) == [
        ("a", "{}", None),
        (None, None, "not_an_object"),
        (None, None, "name_empty"),
        ("c", '{"n": 1e999}', "json_not_finite"),
    ]


def test_an_empty_array_asks_for_nothing() -> None:
    (block,) = scan(DETECTOR, ["[TOOL_CALLS][ ]"])
    assert block.calls == ()


def test_names_with_arguments() -> None:
    text = '[TOOL_CALLS]a[ARGS]{"x": "[ARGS] }"}[TOOL_CALLS]b[CALL_ID]123456789[ARGS] {} trailing prose'
    for at in range(len(text)):
        assert outcomes(scan(DETECTOR, [text[:at], text[at:]])) == [
            ("a", '{"x": "[ARGS] }"}', None),
            ("b", "{}", None),
        ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[TOOL_CALLS]{"name": "a", "arguments": {}}', "not_an_array"),
        ('[TOOL_CALLS]a{"x": 1}', "arguments_marker_missing"),
        ("[TOOL_CALLS]a\n[ARGS]{}", "arguments_marker_missing"),
        ("[TOOL_CALLS]a[ARGS][]", "arguments_not_an_object"),
        ("[TOOL_CALLS]a[ARGS]'x'", "arguments_not_an_object"),
        ("[TOOL_CALLS]a[ARGS]{'x': 1}", "json_syntax"),
        ("[TOOL_CALLS] [CALL_ID]7[ARGS]{}", "json_syntax"),
        ("[TOOL_CALLS][ARGS]{}", "json_syntax"),
        ('[TOOL_CALLS][{"name": "a", "arguments": {}},]', "json_syntax"),
        ('[TOOL_CALLS][{"name": "a", "arguments": {]', "json_syntax"),
    ],
)
def test_what_does_not_parse_is_one_refused_call(text: str, problem: str) -> None:
    assert outcomes(scan(DETECTOR, list(text))) == [(None, None, problem)]
