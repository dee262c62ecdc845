"""Posted intents, checked against the tokens in memory."""

import pytest

from effects.intent import IntentState
from gateway import errors
from tests.gateway.turn.desk import Desk, spell


def test_posted_intents_are_checked_against_the_tokens_in_the_order_of_the_interface() -> None:
    desk = Desk(source="posted")
    end = desk.draft(spell("create", name="a"))
    assert not desk.state.intents
    with pytest.raises(errors.WrongRound):
        desk.post("create", {"name": "a"}, (0, end), round_=1)
    with pytest.raises(errors.SpanNotDrafted):
        desk.post("create", {"name": "a"}, (0, end + 1))
    with pytest.raises(errors.DivergesFromTokens) as span:
        desk.post("create", {"name": "a"}, (0, end - 1))
    with pytest.raises(errors.DivergesFromTokens) as tool:
        desk.post("delete", {"name": "a"}, (0, end))
    with pytest.raises(errors.DivergesFromTokens) as arguments:
        desk.post("create", {"name": "b"}, (0, end))
    fields = [e.value.extra["field"] for e in (span, tool, arguments)]
    assert fields == ["span", "tool", "arguments"]
    assert not desk.post("create", {"name": "a"}, (0, end))
    assert desk.post("create", {"name": "a"}, (0, end))
    with pytest.raises(errors.SpanOverlap):
        desk.post("create", {"name": "a"}, (1, end))
    desk.rule_all()
    assert desk.post("create", {"name": "a"}, (0, end), round_=None)
    assert desk.intent("create").state is IntentState.RELEASED


def test_an_earlier_block_cannot_be_posted_behind_a_later_one() -> None:
    desk = Desk(source="posted", size=1)
    first, second = spell("create", name="a"), spell("read", name="a")
    desk.draft(first + second)
    desk.post("read", {"name": "a"}, (len(first), len(first) + len(second)))
    with pytest.raises(errors.SpanOrder):
        desk.post("create", {"name": "a"}, (0, len(first)))
