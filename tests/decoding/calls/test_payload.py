"""What a payload must be to be a call, and under which code it is refused."""

import pytest

from decoding.calls.block import Call
from decoding.calls.payload import call_in


@pytest.mark.parametrize(
    ("payload", "tool", "raw"),
    [
        ('{"name": "a", "arguments": {}}', "a", "{}"),
        ('\n{"name":"a","arguments":{"x":1.10}}\n', "a", '{"x":1.10}'),
        (' {"arguments" : { "b":2, "a":1 } , "name" : "a" } ', "a", '{ "b":2, "a":1 }'),
        (r'{"n\u0061me": "\u0061", "arguments": {"e": "\u00e9"}}', "a", r'{"e": "\u00e9"}'),
        ('{"name": "a", "arguments": {"\\u0000": 1e300}}', "a", '{"\\u0000": 1e300}'),
    ],
)
def test_calls_keep_their_arguments_as_they_were_spelled(payload: str, tool: str, raw: str) -> None:
    assert call_in(payload, 3) == Call(3, tool, raw)


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ("", "json_syntax"),
        ("{", "json_syntax"),
        ("{'name': 'a', 'arguments': {}}", "json_syntax"),
        ('{"name": "a", "arguments": {},}', "json_syntax"),
        ('{"name": "a", "arguments": {}} {}', "json_syntax"),
        ('{"name": "a", "arguments": {}', "json_syntax"),
        ('{"name": "a", "arguments": {"x": NaN, }}', "json_syntax"),
        ('```json\n{"name": "a", "arguments": {}}\n```', "json_syntax"),
        ('\ufeff{"name": "a", "arguments": {}}', "json_syntax"),
        ('{"name": "a", "arguments": ' + '{"x":' * 100 + "1" + "}" * 100 + "}", "json_too_deep"),
        ("[]", "not_an_object"),
        ('"{}"', "not_an_object"),
        ("NaN", "not_an_object"),
        ("{}", "name_missing"),
        ('{"arguments": {}}', "name_missing"),
        ('{"name": null, "arguments": {}}', "name_not_a_string"),
        ('{"name": ["a"], "arguments": {}}', "name_not_a_string"),
        ('{"name": "", "arguments": {}}', "name_empty"),
        ('{"name": "\\ud800", "arguments": {}}', "json_surrogate"),
        ('{"name": "a"}', "arguments_missing"),
        ('{"name": "a", "parameters": {}}', "unexpected_member"),
        ('{"name": "a", "arguments": {}, "id": 1}', "unexpected_member"),
        ('{"name": "a", "arguments": "{}"}', "arguments_not_an_object"),
        ('{"name": "a", "arguments": null}', "arguments_not_an_object"),
        ('{"name": "a", "arguments": NaN}', "arguments_not_an_object"),
        ('{"name": "a", "name": "b", "arguments": {}}', "json_duplicate_name"),
        ('{"name": "a", "arguments": {}, "arguments": {"x": 1}}', "json_duplicate_name"),
        (r'{"name": "a", "arguments": {}, "argument\u0073": {}}', "json_duplicate_name"),
    ],
)
def test_what_is_no_call_has_no_tool(payload: str, problem: str) -> None:
    assert call_in(payload, 0) == Call(0, None, None, problem)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"x": 1, "x": 2}', "json_duplicate_name"),
        ('{"x": [{"y": 1, "y": 1}]}', "json_duplicate_name"),
        ('{"x": NaN}', "json_not_finite"),
        ('{"x": -Infinity}', "json_not_finite"),
        ('{"x": 1e400}', "json_not_finite"),
        ('{"x": 9007199254740992}', "json_integer_range"),
        ('{"x": "\\ud83d"}', "json_surrogate"),
        ('{"\\ude00": 1}', "json_surrogate"),
    ],
)
def test_refused_values_leave_the_call_its_name(raw: str, problem: str) -> None:
    assert call_in(f'{{"name": "pay", "arguments": {raw}}}', 0) == Call(0, "pay", raw, problem)
    assert call_in(f'{{"arguments": {raw}, "name": "pay"}}', 0) == Call(0, "pay", raw, problem)
