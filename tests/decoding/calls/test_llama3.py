"""Where a message without a closing delimiter spells calls: the model cards of Llama 3, and what models make of them."""

import pytest

from decoding.calls.formats import detector_for
from decoding.calls.scan import scan
from tests.decoding.calls.test_formats import outcomes

DETECTOR = detector_for("llama3")
CARD = '{"name": "get_current_conditions", "parameters": {"location": "San Francisco, CA", "unit": "Fahrenheit"}}'


def test_the_model_card_says_so() -> None:
    expected = ("get_current_conditions", '{"location": "San Francisco, CA", "unit": "Fahrenheit"}', None)
    assert outcomes(scan(DETECTOR, [CARD + "<|eot_id|>"])) == [expected]
    assert outcomes(scan(DETECTOR, ["<|python_tag|>" + CARD + "<|eom_id|>"])) == [expected]
    typed = CARD.replace("{", '{"type": "function", ', 1)
    assert outcomes(scan(DETECTOR, [typed])) == [expected]


def test_an_object_begins_a_block_only_at_the_start_or_behind_a_semicolon() -> None:
    assert scan(DETECTOR, ["I would call ", CARD]) == ()
    assert len(scan(DETECTOR, [CARD, " ; ", CARD, ";", CARD])) == 3
    assert len(scan(DETECTOR, [CARD, " and ;", CARD])) == 1
    assert len(scan(DETECTOR, [CARD, " ", CARD])) == 1
    assert len(scan(DETECTOR, [CARD, "; then ", CARD, "<|python_tag|>", CARD])) == 2


@pytest.mark.parametrize("answer", ['{"answer": 42}', "{}", ' \n{"a": {"name": "x"}}'])
def test_an_answer_in_json_is_text(answer: str) -> None:
    assert scan(DETECTOR, list(answer)) == ()
    assert scan(DETECTOR, [answer, ";", CARD]) == ()
    assert len(scan(DETECTOR, [answer, ";<|python_tag|>", CARD])) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{'name': 'a', 'parameters': {}}", "json_syntax"),
        ('{"name": "a"}', "arguments_missing"),
        ('{"name": "a", "arguments": {}}', "unexpected_member"),
        ('{"parameters": {}}', "name_missing"),
        ('{"name": "Ada", "age": 36}', "unexpected_member"),
        ('<|python_tag|>{"answer": 42}', "unexpected_member"),
        ('<|python_tag|>brave_search.call(query="x")', "not_an_object"),
        ("<|python_tag|>import os", "not_an_object"),
        ("{" + '{"name": "a", "parameters": {}}' + "}", "json_syntax"),
    ],
)
def test_what_looks_like_a_call_and_is_none_is_refused(text: str, problem: str) -> None:
    assert outcomes(scan(DETECTOR, list(text))) == [(None, None, problem)]
