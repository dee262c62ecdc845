"""The budget of early reads: how many one commit key has outstanding, and tools that stopped."""

from dataclasses import replace

import pytest

from effects.intent import IntentState
from effects.policy import Policy
from gateway.service.views import reasons_under
from gateway.turn.brakes import Brakes
from gateway.turn.unfolding import Unfolding
from ledger.state import Intent
from tests.gateway.turn.desk import Desk, spell, table


def reads(desk: Desk) -> list[Intent]:
    return sorted(desk.state.intents.values(), key=lambda i: i.place)


def early(desk: Desk) -> list[bool]:
    return [i.state is IntentState.RELEASED for i in reads(desk)]


def drafted(number: int = 6, force=None) -> Desk:
    desk = Desk(force)
    desk.draft("".join(spell("read", name=f"n{i}") for i in range(number)))
    return desk


def test_four_are_outstanding_and_an_answer_makes_room() -> None:
    desk = drafted()
    assert early(desk) == [True] * 4 + [False] * 2
    reason = reasons_under(Unfolding(desk.state, desk.now), desk.force)
    assert reason(reads(desk)[4]) == "budget_spent"
    first = reads(desk)[0]
    desk.claim(first)
    assert early(desk)[4:] == [False, False]
    desk.settle(first, "x")
    assert early(desk) == [False, True, True, True, True, False]


def test_what_is_cleared_needs_no_budget() -> None:
    desk = drafted()
    desk.rule_all()
    assert early(desk) == [True] * 6


def test_one_that_is_wasted_is_outstanding_until_it_is_answered() -> None:
    desk = drafted(4)
    for intent in reads(desk):
        desk.claim(intent)
    desk.rule(desk.state.branches["main"].drafted_end, 0, own="so ")
    desk.draft(spell("read", name="other"))
    [again] = [i for i in reads(desk) if i.state is IntentState.HELD]
    desk.settle(reads(desk)[0], "x")
    assert desk.state.intents[again.intent_id].state is IntentState.RELEASED


@pytest.mark.parametrize(("limit", "expected"), [(0, 0), (1, 1), (6, 6)])
def test_the_table_says_how_many(limit: int, expected: int) -> None:
    force = table()
    wide = force.table.model_copy(update={"policy": Policy(early_reads=limit)})
    assert sum(early(drafted(6, replace(force, table=wide)))) == expected


def test_a_tool_that_stopped_sends_no_read_early_and_says_so() -> None:
    force = table().under(Brakes(stopped=frozenset({"read"})))
    desk = drafted(1, force)
    assert early(desk) == [False]
    assert reasons_under(Unfolding(desk.state, desk.now), force)(reads(desk)[0]) == "speculation_stopped"
    desk.rule_all()
    assert early(desk) == [True]


def test_a_released_call_says_what_holds_it_back() -> None:
    desk = Desk()
    desk.accept(spell("create", name="a"))
    [intent] = reads(desk)
    paused = desk.force.under(Brakes(paused=frozenset({"create"})))
    for force, expected in ((desk.force, None), (paused, "paused")):
        assert reasons_under(Unfolding(desk.state, desk.now), force)(intent) == expected
