"""Tokens of a batch that was refused, or of a commit that failed, must leave no trace in what is scanned afterwards."""

import pytest

from gateway.errors import WrongRound
from gateway.turn.tokens import TokenEvent, write_tokens
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from tests.gateway.turn.desk import Desk, spell


def accepted(desk: Desk, text: str, round_: int = 0) -> TokenEvent:
    return TokenEvent(EventType.TOKENS_ACCEPTED, {"round": round_, "tokens": desk.cut(text)})


def refuse(desk: Desk, text: str) -> None:
    """A batch whose first event is good and whose second is refused."""
    with pytest.raises(WrongRound):
        desk.write(accepted(desk, text), accepted(desk, "x", round_=7))


def test_a_write_of_a_refused_batch_is_not_found_in_what_is_accepted_later() -> None:
    desk = Desk()
    refuse(desk, spell("delete", name="x"))
    desk.accept("I shall delete nothing. " * 5)
    assert not desk.state.intents


def test_a_call_is_found_although_a_refused_batch_had_other_text_in_its_place() -> None:
    desk = Desk()
    refuse(desk, "no call here at all, only prose")
    desk.accept(spell("delete", name="x"))
    assert desk.intent("delete").state == "released"


def test_a_commit_that_failed_leaves_no_call_behind_for_the_writer_that_took_over() -> None:
    desk = Desk()
    failed = Unfolding(desk.state, desk.now)
    write_tokens(failed, 1, [accepted(desk, spell("delete", name="x"))], desk.scanner, desk.force)
    desk.open()
    desk.accept("I shall delete nothing. " * 5)
    assert not desk.state.intents


def test_a_drafted_opener_decides_nothing_about_the_block_before_it() -> None:
    desk = Desk(size=1000)
    desk.accept("<tool_call>")
    desk.accept('{"name": "delete", ')
    desk.draft("<tool_call>")
    assert not desk.state.intents
    desk.rule(3, 0, '"arguments": {"name": "x"}}</tool_call>')
    assert [i.tool for i in desk.state.intents.values()] == ["delete"]


def test_an_accepted_opener_ends_the_block_before_it() -> None:
    desk = Desk(size=1000)
    desk.accept("<tool_call>")
    desk.accept('{"name": "delete", ')
    desk.draft("<tool_call>")
    desk.rule_all()
    assert [(i.tool, i.state, i.reason) for i in desk.state.intents.values()] == [
        (None, "refused", "opener_inside_block")
    ]
