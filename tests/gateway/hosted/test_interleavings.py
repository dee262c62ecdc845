"""Parallel calls in fragments, in every order and under every habit of servers: each call is one, and says what it says."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.hosted import AnthropicMessages, OpenAIChat, OpenAIResponses
from tests.decoding.calls.texts import cut
from tests.gateway.hosted.spoken import (
    Event,
    arguments_delta,
    chat,
    completed,
    created,
    item,
    json_delta,
    message_end,
    message_start,
    output_text,
    part,
    said,
    started,
    stopped,
    text_delta,
)
from tests.gateway.hosted.stage import Heard

Fragments = list[list[str]]
TEXT = "…"
HABITS = ("indexed", "from one", "ids only", "index reused", "fresh ids", "fresh ids and names")


@st.composite
def parallel_calls(draw: st.DrawFn) -> tuple[Fragments, list[int]]:
    """The fragments of each call, and the order in which they and pieces of text (-1) arrive."""
    arguments = draw(
        st.lists(
            st.dictionaries(
                st.sampled_from("ab"),
                st.sampled_from(["", "}", '{"', "<tool_call>", 7, {"x": []}]),
                max_size=2,
            ),
            min_size=1,
            max_size=3,
        )
    )
    fragments = []
    for value in arguments:
        text = json.dumps(value)
        fragments.append(cut(text, draw(st.lists(st.integers(1, len(text)), max_size=4))))
    order = [number for number, pieces in enumerate(fragments) for _ in pieces] + [-1] * draw(
        st.integers(0, 3)
    )
    return fragments, draw(st.permutations(order))


def one_call(pieces: list[str]) -> list[str]:
    """Cut so that no later fragment looks like the beginning of another call: where each has a name and an id of its own, an
    empty one and one that begins with a brace do, and servers that mean that are the more common. Blanks go along, for the next
    one may be such a brace."""
    joined: list[str] = []
    for piece in pieces:
        if joined and (not piece.strip() or piece.lstrip().startswith("{")):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def test_blanks_before_a_brace_go_along() -> None:
    assert one_call(['{"a":', " ", '{"x": []}}']) == ['{"a": {"x": []}}']


def first_seen(order: list[int]) -> list[int]:
    return list(dict.fromkeys(number for number in order if number >= 0))


def chunks(fragments: Fragments, order: list[int], habit: str) -> Iterator[Event]:
    left = [list(pieces) for pieces in fragments]
    for at, number in enumerate(order):
        if number < 0:
            yield chat(TEXT)
            continue
        begins = len(left[number]) == len(fragments[number])
        fresh = habit.startswith("fresh")
        name = f"tool{number}" if begins or habit == "fresh ids and names" else None
        index = {"from one": number + 1, "ids only": None, "index reused": 0}.get(habit, number)
        own = habit in ("ids only", "index reused")
        call_id = f"c{at}" if fresh else f"c{number}" if own or begins else None
        yield chat(None, part(left[number].pop(0), index=index, name=name, id=call_id))


@pytest.mark.parametrize("habit", HABITS)
@settings(max_examples=60, deadline=None)
@given(spoken=parallel_calls())
def test_chat(habit: str, spoken: tuple[Fragments, list[int]]) -> None:
    fragments, order = spoken
    if habit == "fresh ids and names":
        fragments = [one_call(pieces) for pieces in fragments]
        order = [number for number, pieces in enumerate(fragments) for _ in pieces] + [-1] * order.count(-1)
    message = Heard(OpenAIChat()).feed(chunks(fragments, order, habit))
    assert message.cleared == []
    message.feed([chat(finish="tool_calls")]).finish()
    assert_said(message, fragments, first_seen(order), order.count(-1))
    assert message.voided == []


@settings(max_examples=60, deadline=None)
@given(spoken=parallel_calls(), fresh=st.booleans())
def test_responses(spoken: tuple[Fragments, list[int]], fresh: bool) -> None:
    fragments, order = spoken
    seen = first_seen(order)
    events, output = [created()], [said(TEXT * order.count(-1))]
    left = [list(pieces) for pieces in fragments]
    for number in seen:
        events.append(item("response.output_item.added", number, id=f"fc{number}", name=f"tool{number}"))
    for at, number in enumerate(order):
        if number < 0:
            events.append(output_text(TEXT))
            continue
        events.append(arguments_delta(number, f"x{at}" if fresh else f"fc{number}", left[number].pop(0)))
        if not left[number]:
            whole = "".join(fragments[number])
            done = item(
                "response.output_item.done", number, name=f"tool{number}", arguments=whole, call_id=f"c{at}"
            )
            events.append(done)
    output += [
        {"type": "function_call", "name": f"tool{number}", "arguments": "".join(fragments[number])}
        for number in seen
    ]
    message = Heard(OpenAIResponses()).feed([*events, completed(*output)]).finish()
    assert_said(message, fragments, seen, order.count(-1))
    assert message.voided == []


@settings(max_examples=60, deadline=None)
@given(spoken=parallel_calls())
def test_messages(spoken: tuple[Fragments, list[int]]) -> None:
    fragments, order = spoken
    seen = first_seen(order)
    events = [message_start(), *(started(number, f"tool{number}", f"t{number}") for number in seen)]
    left = [list(pieces) for pieces in fragments]
    for number in order:
        if number < 0:
            events.append(text_delta(99, TEXT))
            continue
        events.append(json_delta(number, left[number].pop(0)))
        if not left[number]:
            events.append(stopped(number))
    message = Heard(AnthropicMessages()).feed([*events, *message_end()]).finish()
    assert_said(message, fragments, seen, order.count(-1))
    assert message.voided == []


@settings(max_examples=100, deadline=None)
@given(spoken=parallel_calls(), data=st.data())
def test_a_stream_that_breaks_anywhere_clears_nothing_and_is_said_again(
    spoken: tuple[Fragments, list[int]], data: st.DataObject
) -> None:
    fragments, order = spoken
    events = list(chunks(fragments, order, "indexed"))
    message = Heard(OpenAIChat()).feed(events[: data.draw(st.integers(0, len(events)))])
    if data.draw(st.booleans()):
        message.broken()
    else:
        message.finish()  # the connection was closed before the provider said that it is done
    assert (message.cleared, message.undecided, message.text) == ([], [], "")
    message.feed([*events, chat(finish="tool_calls")]).finish()
    assert_said(message, fragments, first_seen(order), order.count(-1))


def assert_said(message: Heard, fragments: Fragments, order: list[int], texts: int) -> None:
    assert message.cleared == [(f"tool{number}", "".join(fragments[number])) for number in order]
    assert (message.said, message.undecided, message.finished) == (TEXT * texts, [], "stop")
    assert len(message.adapter.call_ids) in (len(order), 0)
