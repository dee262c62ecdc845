"""Chat Completions: what servers send, and what may be made of it."""

import pytest

from effects.intent import IntentState
from gateway.hosted import MessageOver, OpenAIChat, ProviderFailed, UnreadableEvent
from tests.gateway.hosted.spoken import chat, part
from tests.gateway.hosted.stage import Heard

A = ("read", '{"name": "a"}')
B = ("read", '{"name": "b"}')
CUT = ("read", '{"name": "a')


def heard() -> Heard:
    return Heard(OpenAIChat())


def both(*fragments: object) -> None:
    """The fragments are the calls A and B, drafted while the stream runs and cleared by its end."""
    message = heard().feed(fragments)  # type: ignore[arg-type]
    assert message.undecided == [A, B]
    message.feed([chat(finish="tool_calls")]).finish()
    assert (message.cleared, message.voided, message.finished) == ([A, B], [], "stop")


def test_text_and_calls_in_order() -> None:
    message = heard().feed([chat("", role="assistant"), chat("Let me "), chat("look. "), chat()])
    message.feed([chat(None, part("", id="c1", name="read")), chat(None, part('{"name"'))])
    assert message.undecided == []
    message.feed([chat(None, part(': "a"}'))])
    assert message.undecided == [A]
    assert message.text == ""
    message.feed([chat(" And then."), chat(finish="tool_calls"), {"choices": [], "usage": {}}])
    assert message.cleared == []
    message.finish()
    assert message.text == (
        'Let me look. <tool_call>{"name": "read", "arguments": {"name": "a"}}</tool_call> And then.'
    )
    assert (message.cleared, message.adapter.call_ids) == ([A], {2: "c1"})


def test_two_calls_under_one_delta_index() -> None:
    both(chat(None, part(A[1], name="read", id="c1"), part(B[1], name="read", id="c2")))
    both(chat(None, part(A[1], name="read"), part(B[1], name="read")))


def test_indexes_that_are_missing_reused_or_count_from_one() -> None:
    both(chat(None, part(A[1], index=None, name="read")), chat(None, part(B[1], index=None, name="read")))
    both(
        chat(None, part("", name="read", id="c1"), part("", name="read", id="c2")),
        chat(None, part('{"name": ', id="c1"), part('{"name": ', id="c2")),
        chat(None, part('"b"}', id="c2"), part('"a"}', id="c1")),
    )
    both(chat(None, part(A[1], index=1, name="read")), chat(None, part(B[1], index=2, name="read")))
    both(chat(None, part(A[1], index=7, name="read")), chat(None, part(B[1], index=3, name="read")))


def test_fresh_ids_with_every_delta() -> None:
    """ag-ui #968: the id is no identity; the last one is what the provider wants to hear."""
    fragments = ["", '{"na', 'me": "a', '"}']
    for repeated in (None, "read"):
        deltas = [
            chat(None, part(piece, id=f"c{n}", name="read" if n == 0 else repeated))
            for n, piece in enumerate(fragments)
        ]
        message = heard().feed([*deltas, chat(finish="tool_calls")]).finish()
        assert (message.cleared, message.voided) == ([A], [])
        assert message.adapter.call_ids == {0: "c3"}


def test_fragments_of_parallel_calls_are_told_apart() -> None:
    both(
        chat(None, part("", name="read", id="c1", index=0)),
        chat(None, part("", name="read", id="c2", index=1)),
        chat(None, part('{"name"', index=1), part("{", index=0)),
        chat(None, part('"name": "a"}', index=0), part(': "b"}', index=1)),
    )


def test_a_later_call_waits_for_the_earlier() -> None:
    message = heard().feed([chat(None, part(CUT[1], name="read", index=0), part(B[1], name="read", index=1))])
    assert message.undecided == []
    message.feed([chat(None, part('"}', index=0))])
    assert message.undecided == [A, B]


def test_what_is_added_to_a_call_that_looked_whole_takes_it_back() -> None:
    message = heard().feed([chat("x"), chat(None, part("{}", name="read", id="c1"))])
    assert message.undecided == [("read", "{}")]
    message.feed([chat(None, part('{"name": "a"}')), chat(finish="tool_calls")]).finish()
    assert message.voided == [("read", "{}")]
    assert message.cleared == [(None, None)]
    assert message.intents[-1].state is IntentState.REFUSED
    assert '"{}{\\"name\\": \\"a\\"}"' in message.text


@pytest.mark.parametrize("reason", ["tool_calls", "stop", "length"])
def test_a_call_that_is_cut_off_is_never_a_call(reason: str) -> None:
    """cline #13001, DeepSeek DSpark #55: no finish reason makes it whole."""
    message = (
        heard().feed([chat("So: "), chat(None, part(CUT[1], name="read")), chat(finish=reason)]).finish()
    )
    if reason == "length":
        assert message.intents == []
        assert message.text == 'So: <tool_call>{"name": "read", "arguments": "{\\"name\\": \\"a'
    else:
        assert [intent.state for intent in message.intents] == [IntentState.REFUSED]
    assert message.finished == ("length" if reason == "length" else "stop")


def test_calls_before_the_one_that_is_cut_off_stand() -> None:
    fragments = [part(A[1], index=0, name="read"), part('{"name"', index=1, name="read")]
    message = heard().feed([chat(None, *fragments), chat(finish="length")]).finish()
    assert message.cleared == [A]
    assert len(message.intents) == 1


@pytest.mark.parametrize("end", ["content_filter", "insufficient_system_resource", None])
def test_a_message_that_was_withheld_or_did_not_end_counts_for_nothing(end: str | None) -> None:
    message = heard().feed([chat("x"), chat(None, part(A[1], name="read")), chat(finish=end)]).finish()
    assert (message.cleared, message.voided, message.text) == ([], [A], "")
    assert message.finished == ("error" if end == "content_filter" else None)


def test_a_retry_of_the_whole_stream() -> None:
    message = heard().feed([chat("x"), chat(None, part(A[1], name="read", id="c1"))]).broken()
    assert (message.voided, message.finished) == ([A], None)
    message.feed(
        [chat("y"), chat(None, part(A[1], name="read", id="c2")), chat(finish="tool_calls")]
    ).finish()
    assert (message.cleared, message.voided) == ([A], [A])
    assert message.adapter.call_ids == {1: "c2"}
    assert message.said == "y"


def test_an_error_in_the_stream_rejects_it() -> None:
    message = heard().feed([chat(None, part(A[1], name="read"))])
    error = {"message": "overloaded", "type": "server_error", "code": 503}
    with pytest.raises(ProviderFailed, match="server_error: overloaded") as failed:
        message.feed([{"error": error}])
    assert (failed.value.type, failed.value.text) == ("server_error", "overloaded")
    message.give_up()
    assert (message.cleared, message.voided) == ([], [A])
    assert message.finished == "error"


@pytest.mark.parametrize("error", ["overloaded", {"message": {"a": 1}, "code": []}, [], {"code": 429}])
def test_an_error_is_told_whatever_its_shape_and_another_try_may_follow(error: object) -> None:
    message = heard().feed([chat(None, part(A[1], name="read", id="c1"))])
    with pytest.raises(ProviderFailed):
        message.feed([{"error": error}])
    message.feed([chat(None, part(A[1], name="read", id="c2")), chat(finish="tool_calls")]).finish()
    assert (message.cleared, message.voided, message.finished) == ([A], [A], "stop")


def test_the_finished_message_rejects_from_the_first_difference() -> None:
    streamed = [chat("one "), chat("two "), chat(None, part(A[1], name="read")), chat(finish="tool_calls")]
    tool = {"id": "z", "type": "function", "function": {"name": "read", "arguments": B[1]}}
    message = (
        heard().feed(streamed).finish({"role": "assistant", "content": "one two ", "tool_calls": [tool]})
    )
    assert (message.cleared, message.voided) == ([B], [A])
    message = heard().feed(streamed)
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": "one three"}}
    message.finish({"object": "chat.completion", "choices": [choice]})
    assert (message.text, message.voided, message.cleared) == ("one three", [A], [])
    agreeing = {**tool, "function": {"name": "read", "arguments": A[1]}}
    message = heard().feed(streamed).finish({"content": "one two ", "tool_calls": [agreeing]})
    assert (message.cleared, message.voided, message.adapter.call_ids) == ([A], [], {2: "z"})


def test_a_message_without_a_stream() -> None:
    tool = {"id": "z", "function": {"name": "read", "arguments": A[1]}}
    choice = {"finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [tool]}}
    message = heard().finish({"choices": [choice]})
    assert message.cleared == [A]


def test_older_and_odd_spellings_of_calls() -> None:
    older = chat(None, function_call={"name": "read", "arguments": A[1]})
    message = heard().feed([older, chat(finish="function_call")]).finish()
    assert message.cleared == [A]
    as_object = chat(None, {"index": 0, "function": {"name": "read", "arguments": {"name": "a"}}})
    message = heard().feed([as_object, chat(finish="stop")]).finish()
    assert message.cleared == [A]
    custom = chat(None, {"index": 0, "id": "c", "custom": {"name": "shell", "input": "{} rm"}})
    message = heard().feed([custom, chat(finish="tool_calls")]).finish()
    assert message.cleared == [(None, None)]


def test_a_refusal_is_what_the_model_said() -> None:
    message = heard().feed([chat(None, refusal="I cannot"), chat(finish="stop")]).finish()
    assert message.said == "I cannot"


def test_other_choices_are_not_followed() -> None:
    other = chat("no")
    other["choices"][0]["index"] = 1
    assert heard().feed([other, chat("yes"), chat(finish="stop")]).finish().text == "yes"


def test_events_that_no_provider_sends() -> None:
    misplaced = chat(None, {**part("{}"), "index": "x"})
    for event in (
        {"choices": 7},
        chat(None, refusal=[]),
        {"choices": ["x"]},
        misplaced,
        chat(None, tool_calls="x"),
    ):
        with pytest.raises(UnreadableEvent) as refused:
            OpenAIChat().feed(event)
        assert refused.value.code == "hosted_event_unreadable"
    adapter = OpenAIChat()
    adapter.give_up("cancelled")
    with pytest.raises(MessageOver):
        adapter.feed(chat("x"))
