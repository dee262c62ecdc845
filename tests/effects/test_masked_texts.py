import json
import time
from urllib.parse import quote

import pytest

from effects.masked_texts import DEEPEST, MOST_CHARACTERS, MOST_VALUES, Hidden
from effects.masks import MASKED

CARD = "4333222211110000"


def shown(result: object, *paths: str, arguments: object = None) -> str:
    return json.dumps(Hidden(paths or ("card",), [arguments], [result]).result(result))


def mcp(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"card": CARD, "order": "o-7"}}


@pytest.mark.parametrize("paths", [("card",), ("$.card",), ("$.*",)])
def test_the_text_block_of_an_mcp_answer_said_what_its_structured_content_hid(paths: tuple[str, ...]) -> None:
    answer = mcp(json.dumps({"card": CARD, "order": "o-7"}))
    assert CARD not in shown(answer, *paths)
    assert CARD in shown(answer, "nothing")


def test_a_text_that_is_json_keeps_what_is_not_masked() -> None:
    hidden = Hidden(("card",), [], [value := mcp(json.dumps({"card": CARD, "order": "o-7"}))])
    answer = hidden.result(value)
    assert isinstance(answer, dict)
    assert json.loads(answer["content"][0]["text"]) == {"card": MASKED, "order": "o-7"}
    untouched = mcp('{"order" :  "o-7"}')
    kept = Hidden(("card",), [], [untouched]).result(untouched)
    assert isinstance(kept, dict)
    assert kept["content"] == untouched["content"]


@pytest.mark.parametrize(
    "text",
    [
        f"charged {CARD}.",
        f"Card {CARD} was charged",
        "charged 4333 2222 1111 0000.",
        "charged 4333-2222-1111-0000.",
        f'Answer: {{"card": "{CARD}"}}',
        json.dumps(json.dumps({"card": CARD})),
        json.dumps({"echo": json.dumps({"body": json.dumps({"card": CARD})})}),
        json.dumps({"to": CARD}),
        json.dumps({"to": int(CARD)}),
        json.dumps({CARD: "paid"}),
        f'{{"card": "{CARD}", "card": "1"}}',
        f'{{"card": "{CARD}"',
        f"\ufeff{{'card': '{CARD}'}}",
    ],
)
def test_no_text_repeats_what_is_masked_in_the_arguments(text: str) -> None:
    for answer in (mcp(text), {"said": text}, [text], {"http_status": 400, "body": {"said": text}}):
        said = shown(answer, arguments={"card": CARD})
        assert "0000" not in said
        assert MASKED in said
        assert "0000" in json.dumps(answer)


@pytest.mark.parametrize(
    "text", ["your card is 4111", '{"card": "4111"', "card: 4111\norder: 1", "[4111, card", "CARD=4111"]
)
def test_a_text_that_cannot_be_told_apart_is_hidden_whole(text: str) -> None:
    assert json.loads(shown({"said": text})) == {"said": MASKED}


@pytest.mark.parametrize(
    "text", ["paid", "card", "order o-7", '{"order": "o-7"}', '"so", they said', "cardboard 7"]
)
def test_a_text_of_nothing_that_is_masked_stays(text: str) -> None:
    assert json.loads(shown({"said": text}, arguments={"card": CARD})) == {"said": text}


def test_a_value_gives_way_and_the_rest_of_its_text_stays() -> None:
    said = shown({"said": f"Charged {CARD} for o-7"}, arguments={"card": CARD})
    assert json.loads(said) == {"said": f"Charged {MASKED} for o-7"}


@pytest.mark.parametrize("value", ['a"b\\c', "é/ü ñ", "x y&z"])
def test_a_value_that_is_spelled_otherwise_gives_way_too(value: str) -> None:
    for spelled in (value, json.dumps(value)[1:-1], quote(value, safe="")):
        assert json.loads(shown({"said": f"<{spelled}>"}, arguments={"card": value})) == {
            "said": f"<{MASKED}>"
        }


def test_a_short_value_gives_way_as_a_word_and_leaves_others_their_letters() -> None:
    answer = {"said": "cvc 12 of 2123", "n": 12}
    assert json.loads(shown(answer, "cvc", arguments={"cvc": "12"})) == {
        "said": f"cvc {MASKED} of 2123",
        "n": 12,
    }


def test_encoded_bytes_are_hidden() -> None:
    answer = {"body": {"raw_base64": "NDMzMw=="}, "content": [{"mimeType": "image/png", "data": "NDMzMw=="}]}
    assert "NDMz" not in shown(answer)
    assert "NDMz" in shown({"data": "NDMzMw=="})


def test_a_text_in_arguments_repeats_nothing_either() -> None:
    arguments = {"card": CARD, "note": f"bill {CARD}", "body": {"name": "kept"}}
    hidden = Hidden(("card", "$.name"), [arguments])
    assert hidden.arguments(arguments) == {"card": MASKED, "note": f"bill {MASKED}", "body": {"name": "kept"}}


def test_the_callers_name_of_a_call_repeats_nothing() -> None:
    hidden = Hidden(("card",), [{"card": CARD}])
    assert hidden.identifier(f"pay-{CARD}") == MASKED
    assert hidden.identifier("pay-4333_2222_1111_0000") == MASKED
    assert hidden.identifier("call-7") == "call-7"


def test_what_is_too_much_to_look_at_is_hidden() -> None:
    long = "x" * (MOST_CHARACTERS + 1)
    assert json.loads(shown({"said": long})) == {"said": MASKED}
    many = {"card": [f"value{n}" for n in range(MOST_VALUES + 1)], "said": "untold"}
    assert json.loads(shown(many))["said"] == MASKED
    nested = json.dumps({"order": CARD})
    for _ in range(DEEPEST):
        nested = json.dumps({"o": nested})
    assert CARD not in shown({"said": nested}, "nothing")


def test_much_text_and_many_values_take_bounded_time() -> None:
    values = [f"{n:06}abc" for n in range(MOST_VALUES)]
    texts = ["zabc0000" * 12 for _ in range(40_000)]
    begun = time.process_time()
    shown({"card": values, "said": texts, "deep": "[" * 100_000}, arguments={"card": values})
    assert time.process_time() - begun < 5
