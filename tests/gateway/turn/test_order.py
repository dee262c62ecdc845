"""Order and freshness of calls, decided in memory (design.md, "Order, freshness, finality")."""

from effects.intent import IntentState, Release, ResultStatus
from tests.gateway.turn.desk import Desk, spell, table


def test_delete_and_read_clearing_in_one_ruling_sends_the_early_read_again() -> None:
    desk = Desk(table(reads="send"))
    desk.draft(spell("delete", name="a") + spell("read", name="a"))
    read, delete = desk.intent("read"), desk.intent("delete")
    assert read.release is Release.EARLY
    desk.claim(read)
    desk.settle(read, "old")
    desk.rule_all()
    assert not desk.intent("read").final
    assert desk.claim(delete) is not None
    desk.settle(delete)
    read = desk.intent("read")
    assert (read.state, read.release) == (IntentState.RELEASED, Release.COMMITTED)
    assert "intent.stale" in desk.types(read)
    desk.claim(read)
    desk.settle(read, "new")
    read = desk.intent("read")
    assert read.final
    assert (read.result_content, read.attempts) == ("new", 2)


def test_an_early_read_in_flight_across_a_write_is_sent_again() -> None:
    desk = Desk(table(reads="send"))
    desk.draft(spell("delete", name="a") + spell("read", name="a"))
    read, delete = desk.intent("read"), desk.intent("delete")
    desk.claim(read)
    desk.rule_all()
    desk.claim(delete)
    desk.settle(delete)
    desk.settle(read, "unknown")
    assert not desk.intent("read").final
    assert desk.intent("read").state is IntentState.RELEASED


def test_reads_are_held_behind_conflicting_writes_by_default_and_others_are_not() -> None:
    desk = Desk()
    desk.draft(spell("delete", name="a") + spell("read", name="a") + spell("read", name="b"))
    by_name = {i.arguments_raw: i for i in desk.state.intents.values() if i.tool == "read"}
    assert by_name['{"name": "a"}'].state is IntentState.HELD
    assert by_name['{"name": "b"}'].state is IntentState.RELEASED


def test_an_early_read_that_was_never_sent_is_held_again_when_it_clears_behind_a_write() -> None:
    desk = Desk(table(reads="send"))
    desk.draft(spell("delete", name="a") + spell("read", name="a"))
    desk.rule_all()
    assert desk.intent("read").state is IntentState.HELD
    assert desk.claim(desk.intent("read")) is None


def test_a_write_waits_for_an_earlier_conflicting_read() -> None:
    desk = Desk(table(order="footprint"))
    desk.draft(spell("read", name="a") + spell("delete", name="a") + spell("delete", name="b"))
    desk.rule_all()
    other = next(i for i in desk.state.intents.values() if i.arguments_raw == '{"name": "b"}')
    assert desk.intent("delete", 0).state is IntentState.HELD
    assert other.state is IntentState.RELEASED
    desk.claim(desk.intent("read"))
    desk.settle(desk.intent("read"), 1)
    assert desk.intent("delete", 0).state is IntentState.RELEASED


def test_writes_are_strictly_in_order_by_default() -> None:
    desk = Desk()
    desk.draft(spell("create", name="a") + spell("create", name="b"))
    desk.rule_all()
    first, second = desk.intent("create", 0), desk.intent("create", 1)
    assert (first.state, second.state) == (IntentState.RELEASED, IntentState.HELD)
    desk.claim(first)
    desk.lose(first)
    assert desk.intent("create", 0).state is IntentState.IN_DOUBT
    assert desk.intent("create", 1).state is IntentState.HELD
    desk.resolve(first, happened=True)
    first = desk.intent("create", 0)
    assert (first.final, first.result_status) == (True, ResultStatus.HAPPENED_UNKNOWN_RESULT)
    assert desk.intent("create", 1).state is IntentState.RELEASED
