"""Messages: blocks that begin and stop, JSON that may stop anywhere."""

import pytest

from effects.intent import IntentState
from gateway.hosted import AnthropicMessages, ProviderFailed
from tests.gateway.hosted.spoken import json_delta, message_end, message_start, started, stopped, text_delta
from tests.gateway.hosted.stage import Heard

A = ("read", '{"name": "a"}')
B = ("read", '{"name": "b"}')


def heard() -> Heard:
    return Heard(AnthropicMessages()).feed([message_start()])


def one(index: int, arguments: str, use: str = "toolu_1") -> list[dict[str, object]]:
    pieces = [json_delta(index, piece) for piece in ("", arguments[:4], arguments[4:])]
    return [started(index, "read", use), *pieces, stopped(index)]


def test_text_thinking_and_calls() -> None:
    thinking = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": ""},
    }
    thought = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "<tool_call>"},
    }
    begun = {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
    message = heard().feed(
        [thinking, thought, stopped(0), begun, text_delta(1, "Hm. "), {"type": "ping"}, stopped(1)]
    )
    message.feed(one(2, A[1]))
    assert message.undecided == [A]
    message.feed([*one(3, B[1], "toolu_2"), *message_end()]).finish()
    assert (message.cleared, message.voided, message.said) == ([A, B], [], "Hm. ")
    assert message.adapter.call_ids == {1: "toolu_1", 2: "toolu_2"}


def test_an_input_without_deltas_is_what_the_block_began_with() -> None:
    begun = started(1, "read")
    begun["content_block"]["input"] = {"name": "a"}
    message = heard().feed([started(0, "read"), stopped(0), begun, stopped(1)])
    assert message.undecided == [("read", "{}"), A]


def test_a_block_counts_once_it_has_stopped() -> None:
    events = one(0, A[1])
    message = heard().feed(events[:-1])
    assert message.intents == []
    message.feed(message_end()).finish()
    assert (message.cleared, message.intents, message.finished) == ([], [], "stop")
    assert message.text.endswith('"{\\"name\\": \\"a\\"}')


@pytest.mark.parametrize("partial", ['{"name": "a', '{"name": a}', "", '{"name": "a"}}'])
@pytest.mark.parametrize("reason", ["tool_use", "max_tokens"])
def test_fine_grained_streaming_may_stop_anywhere(partial: str, reason: str) -> None:
    message = heard().feed([started(0, "read"), json_delta(0, partial), stopped(0)])
    assert message.undecided == ([("read", "{}")] if not partial else [])
    message.feed(message_end(reason)).finish()
    refused = [intent.state for intent in message.intents] == [IntentState.REFUSED]
    if partial:
        assert refused == (reason == "tool_use")
        assert message.cleared in ([(None, None)], [])


def test_a_reader_that_completes_half_an_input_is_not_believed() -> None:
    content = [{"type": "tool_use", "id": "t", "name": "read", "input": {"name": "a"}}]
    for reason in ("max_tokens", "tool_use"):
        message = heard().feed(
            [started(0, "read"), json_delta(0, '{"name": "a'), stopped(0), *message_end(reason)]
        )
        message.finish({"role": "assistant", "content": content, "stop_reason": reason})
        assert message.cleared == []
    message = (
        heard().feed(message_end("max_tokens")).finish({"content": content, "stop_reason": "max_tokens"})
    )
    assert message.cleared == []


def test_the_finished_message_rules_by_value() -> None:
    streamed = [text_delta(0, "Hm. "), *one(1, A[1]), *message_end()]
    text = {"type": "text", "text": "Hm. "}
    use = {"type": "tool_use", "id": "toolu_9", "name": "read", "input": {"name": "a"}}
    message = heard().feed(streamed).finish({"content": [text, use], "stop_reason": "tool_use"})
    assert (message.cleared, message.voided, message.adapter.call_ids) == ([A], [], {1: "toolu_9"})
    other = {**use, "input": {"name": "b"}}
    message = heard().feed(streamed).finish({"content": [text, other], "stop_reason": "tool_use"})
    assert (message.cleared, message.voided) == ([B], [A])


@pytest.mark.parametrize(
    "end",
    [
        [],
        [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}],
        [{"type": "message_stop"}],
        message_end("unheard_of"),
    ],
)
def test_only_message_stop_behind_a_reason_finishes(end: list[dict[str, object]]) -> None:
    message = heard().feed([*one(0, A[1]), *end]).finish()
    assert (message.cleared, message.voided, message.finished) == ([], [A], None)


def test_an_error_in_the_stream_was_told_to_nobody() -> None:
    message = heard().feed([*one(0, A[1]), *message_end()])
    error = {"type": "overloaded_error", "message": "Overloaded"}
    with pytest.raises(ProviderFailed) as failed:
        message.feed([{"type": "error", "error": error}])
    assert (failed.value.code, failed.value.type, failed.value.text) == (
        "hosted_provider_failed",
        "overloaded_error",
        "Overloaded",
    )
    message.finish()  # nobody tries again, and nothing that was said counts
    assert (message.cleared, message.voided, message.finished) == ([], [A], None)


def test_a_refusal_takes_everything_back() -> None:
    message = heard().feed([text_delta(0, "x"), *one(1, A[1]), *message_end("refusal")]).finish()
    assert (message.cleared, message.voided, message.text, message.finished) == ([], [A], "", "error")


def test_a_retry_begins_with_another_message() -> None:
    message = heard().feed([*one(0, A[1]), message_start("msg_2")])
    assert message.voided == [A]
    message.feed([*one(0, A[1], "toolu_7"), *message_end()]).finish()
    assert (message.cleared, message.voided, message.adapter.call_ids) == ([A], [A], {0: "toolu_7"})


def test_blocks_that_share_an_index_or_have_none() -> None:
    message = heard().feed([*one(0, A[1]), *one(0, B[1], "toolu_2"), *message_end()]).finish()
    assert message.cleared == [A, B]
    events = [*one(0, A[1]), *one(0, B[1], "toolu_2")]
    for event in events:
        del event["index"]
    message = heard().feed([*events, *message_end()]).finish()
    assert message.cleared == [A, B]


def test_parallel_blocks_may_interleave() -> None:
    mixed = [event for pair in zip(one(0, A[1]), one(1, B[1]), strict=True) for event in pair]
    assert heard().feed([*mixed, *message_end()]).finish().cleared == [A, B]


def test_what_the_provider_runs_itself_is_passed_over() -> None:
    block = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    begun = {"type": "content_block_start", "index": 0, "content_block": block}
    message = heard().feed([begun, json_delta(0, "{}"), stopped(0), *message_end("end_turn")]).finish()
    assert (message.text, message.intents) == ("", [])
