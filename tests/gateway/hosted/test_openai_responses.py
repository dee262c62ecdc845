"""Responses: items begin, arrive, are done, and come once more in the response."""

import pytest

from effects.intent import IntentState
from gateway.hosted import OpenAIResponses, ProviderFailed
from tests.gateway.hosted.spoken import (
    arguments_delta,
    called,
    completed,
    created,
    item,
    output_text,
    said,
)
from tests.gateway.hosted.stage import Heard

A = ("read", '{"name": "a"}')
B = ("read", '{"name": "b"}')
ADDED, DONE = "response.output_item.added", "response.output_item.done"


def heard() -> Heard:
    return Heard(OpenAIResponses())


def one(
    index: int, arguments: str, item_id: str = "fc_1", call_id: str = "call_1"
) -> list[dict[str, object]]:
    return [
        item(ADDED, index, id=item_id, call_id=call_id, name="read", arguments=""),
        arguments_delta(index, item_id, arguments[:5]),
        arguments_delta(index, item_id, arguments[5:]),
        {"type": "response.function_call_arguments.done", "output_index": index, "arguments": arguments},
        item(DONE, index, id=item_id, call_id=call_id, name="read", arguments=arguments, status="completed"),
    ]


def test_five_appearances_of_a_call_are_one() -> None:
    """ag-ui #968: begun, in fragments, in full, done, and in the response, with another id each time."""
    events = one(1, A[1])
    events[-1]["item"] = {**events[-1]["item"], "id": "other", "call_id": "call_2"}  # type: ignore[dict-item]
    message = heard().feed([created(), output_text("Hm. "), *events])
    assert message.undecided == [A]
    message.feed([completed(said("Hm. "), called(*A, call_id="call_3"))]).finish()
    assert (message.cleared, message.voided, message.finished) == ([A], [], "stop")
    assert message.adapter.call_ids == {1: "call_3"}


def test_a_call_is_drafted_only_when_its_item_is_done() -> None:
    *begun, last = one(0, A[1])
    message = heard().feed([created(), *begun])
    assert message.intents == []
    assert message.feed([last]).undecided == [A]


def test_interleaved_items_and_fresh_ids() -> None:
    first, second = one(0, A[1], "fc_1"), one(1, B[1], "fc_2")
    for number, event in enumerate(first[1:3] + second[1:3]):
        event["item_id"] = f"fresh_{number}"
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    response = completed(called(*A), called(*B))
    message = heard().feed([created(), *mixed, response]).finish()
    assert (message.cleared, message.voided) == ([A, B], [])


def test_indexes_that_are_missing() -> None:
    events = one(0, A[1], "fc_1") + one(0, B[1], "fc_2")
    for event in events:
        del event["output_index"]
        if event["type"] == "response.function_call_arguments.done":
            event["item_id"] = events[events.index(event) - 1]["item_id"]
    message = heard().feed([created(), *events, completed(called(*A), called(*B))]).finish()
    assert (message.cleared, message.voided) == ([A, B], [])


def test_an_index_for_two_items() -> None:
    message = heard().feed([created(), *one(0, A[1], "fc_1"), *one(0, B[1], "fc_2")])
    message.feed([completed(called(*A), called(*B))]).finish()
    assert (message.cleared, message.voided) == ([A, B], [])


def test_fragments_before_their_item() -> None:
    added, *rest = one(0, A[1])
    message = heard().feed([created(), rest[0], added, *rest[1:]])
    assert message.undecided == [A]
    message.feed([completed(called(*A))]).finish()
    assert (message.cleared, message.voided) == ([A], [])


def test_the_response_rules_on_the_deltas() -> None:
    streamed = [created(), output_text("one "), output_text("two"), *one(1, A[1])]
    message = heard().feed([*streamed, completed(said("one 2"), called(*B))]).finish()
    assert (message.text[:5], message.cleared, message.voided) == ("one 2", [B], [A])
    message = heard().feed([*streamed, completed()]).finish()
    assert (message.text, message.cleared, message.voided, message.finished) == ("", [], [A], "stop")
    without = completed()
    del without["response"]["output"]
    message = heard().feed([*streamed, without]).finish()
    assert (message.said, message.cleared) == ("one two", [A])


def test_a_response_that_is_incomplete() -> None:
    begun = [created(), *one(0, A[1]), *one(1, '{"name": "b', "fc_2")[:4]]
    cut = called("read", '{"name": "b', status="incomplete")
    end = completed(called(*A), cut, status="incomplete", reason="max_output_tokens")
    message = heard().feed([*begun, end]).finish()
    assert (message.cleared, len(message.intents), message.finished) == ([A], 1, "length")
    assert message.text.endswith('"{\\"name\\": \\"b')
    # Whole to look at, and said to be incomplete all the same.
    end = completed(called(*A, status="incomplete"), status="incomplete", reason="max_output_tokens")
    message = heard().feed([created(), end]).finish()
    assert (message.intents, message.finished) == ([], "length")
    first = completed(
        called(*A, status="incomplete"), called(*B), status="incomplete", reason="max_output_tokens"
    )
    message = heard().feed([created(), first]).finish()
    assert [intent.state for intent in message.intents if intent.tool is None] == [IntentState.REFUSED]
    assert message.cleared == [(None, None), B]


@pytest.mark.parametrize(
    "end",
    [
        completed(called(*A), status="incomplete", reason="unheard_of"),
        {"type": "response.in_progress"},
    ],
)
def test_a_response_that_failed_or_did_not_end(end: dict[str, object]) -> None:
    message = heard().feed([created(), *one(0, A[1]), end]).finish()
    assert (message.cleared, message.voided, message.finished) == ([], [A], None)


@pytest.mark.parametrize(
    ("event", "type_", "text"),
    [
        (
            {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "lost"}}},
            "server_error",
            "lost",
        ),
        ({"type": "response.failed", "response": {"status": "failed"}}, "response.failed", ""),
        ({"type": "response.cancelled"}, "response.cancelled", ""),
        ({"type": "error", "message": "overloaded", "code": "busy"}, "busy", "overloaded"),
        ({"type": "error"}, "", ""),
    ],
)
def test_a_failure_is_told_in_the_providers_words(event: dict[str, object], type_: str, text: str) -> None:
    message = heard().feed([created(), *one(0, A[1])])
    with pytest.raises(ProviderFailed) as failed:
        message.feed([event])
    assert (failed.value.type, failed.value.text) == (type_, text)
    message.finish()
    assert (message.cleared, message.voided, message.finished) == ([], [A], None)


def test_a_filter_withholds_all_of_it() -> None:
    end = completed(called(*A), status="incomplete", reason="content_filter")
    message = heard().feed([created(), *one(0, A[1]), end]).finish()
    assert (message.cleared, message.voided, message.finished) == ([], [A], "error")


def test_a_retry_begins_with_another_response() -> None:
    message = heard().feed([created("resp_1"), *one(0, A[1]), created("resp_2")])
    assert message.voided == [A]
    message.feed([*one(0, A[1], "fc_7", "call_7"), completed(called(*A, call_id="call_7"))]).finish()
    assert (message.cleared, message.voided) == ([A], [A])
    assert message.adapter.call_ids == {0: "call_7"}


def test_what_the_provider_runs_itself_and_reasoning_is_passed_over() -> None:
    search = {
        "type": DONE,
        "output_index": 0,
        "item": {"type": "web_search_call", "id": "ws", "status": "completed"},
    }
    reasoning = {"type": "response.reasoning_summary_text.delta", "delta": "<tool_call>"}
    message = heard().feed([created(), search, reasoning, output_text("x"), completed(said("x"))]).finish()
    assert message.text == "x"


def test_a_custom_tools_input_is_no_object() -> None:
    custom = {"type": "custom_tool_call", "name": "shell", "input": "ls", "call_id": "c"}
    added = {"type": ADDED, "output_index": 0, "item": {**custom, "input": ""}}
    done = {"type": DONE, "output_index": 0, "item": custom}
    message = heard().feed([created(), added, done, completed(custom)]).finish()
    assert [intent.state for intent in message.intents] == [IntentState.REFUSED]
    assert '"arguments": "ls"' in message.text
