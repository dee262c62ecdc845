"""What becomes of a call whose outcome is late, lost or none, decided in memory (design.md, "Dispatch")."""

import pytest

from effects.intent import IntentState, ResultStatus
from effects.table import EffectTable
from gateway import errors
from gateway.turn.tables import TableInForce
from tests.gateway.turn.desk import Desk, spell


def test_a_late_outcome_settles_an_open_doubt_and_is_evidence_after_a_resolution() -> None:
    desk = Desk()
    desk.draft(spell("create", name="a"))
    desk.rule_all()
    write = desk.intent("create")
    desk.claim(write)
    desk.lose(write)
    assert not desk.settle(write, "late")
    write = desk.intent("create")
    assert (write.final, write.result_content) == (True, "late")
    other = Desk()
    other.draft(spell("create", name="a"))
    other.rule_all()
    other.claim(write)
    other.lose(write)
    other.resolve(write, happened=False)
    other.settle(write, "late")
    assert other.intent("create").result_status is ResultStatus.NOT_HAPPENED
    assert other.log[-1].type == "dispatch.late"
    with pytest.raises(errors.NotInDoubt):
        other.resolve(write, happened=True)


def test_a_lost_read_is_sent_again_five_times_at_most() -> None:
    desk = Desk()
    desk.draft(spell("read", name="a"))
    desk.rule_all()
    read = desk.intent("read")
    for attempt in range(1, 5):
        assert desk.claim(read) is not None, attempt
        desk.lose(read)
        assert desk.intent("read").state is IntentState.RELEASED
    desk.claim(read)
    desk.lose(read)
    assert desk.intent("read").result_status is ResultStatus.UNAVAILABLE
    assert desk.intent("read").final


def test_a_lost_idempotent_call_is_sent_again_inside_its_window_under_one_key_and_is_in_doubt_after_it() -> (
    None
):
    desk = Desk()
    desk.draft(spell("put", name="a"))
    desk.rule_all()
    put = desk.intent("put")
    first = desk.claim(put)
    desk.lose(put, retry_after=60)
    assert desk.intent("put").state is IntentState.HELD
    desk.wait(61)
    second = desk.claim(put)
    assert first is not None
    assert second is not None
    assert first.idempotency_key == second.idempotency_key
    desk.wait(3600)
    desk.lose(put)
    assert desk.intent("put").state is IntentState.IN_DOUBT


def test_an_early_unavailable_read_is_sent_again_once_cleared() -> None:
    desk = Desk()
    desk.draft(spell("read", name="a"))
    read = desk.intent("read")
    desk.claim(read)
    desk.unavailable(read)
    assert desk.intent("read").state is IntentState.SETTLED
    desk.rule_all()
    assert desk.intent("read").state is IntentState.RELEASED
    desk.claim(read)
    desk.unavailable(read)
    assert desk.intent("read").final


def test_an_unavailable_early_read_whose_tool_became_a_write_is_refused_and_not_sent_again() -> None:
    desk = Desk()
    desk.draft(spell("read", name="a"))
    read = desk.intent("read")
    desk.claim(read)
    desk.unavailable(read)
    raised = """
tools:
  read: {effect: WRITE, writes: ["thing:{name}"], upstream: {http: "http://127.0.0.1:9/tools/read"}}
"""
    desk.force = TableInForce(2, EffectTable.parse(raised))
    desk.rule_all()
    read = desk.intent("read")
    assert (read.state, read.reason, read.attempts) == (IntentState.REFUSED, "effect_raised", 1)


def test_an_idempotent_call_whose_window_ended_before_its_next_dispatch_is_in_doubt_without_one() -> None:
    desk = Desk()
    desk.draft(spell("put", name="a"))
    desk.rule_all()
    put = desk.intent("put")
    desk.claim(put)
    desk.lose(put, retry_after=7200)
    desk.wait(7201)
    assert desk.intent("put").state is IntentState.RELEASED
    assert desk.claim(put) is None
    put = desk.intent("put")
    assert (put.state, put.reason, put.attempts) == (IntentState.IN_DOUBT, "may_not_be_repeated", 1)
    assert desk.types(put).count("dispatch.started") == 1
    desk.resolve(put, happened=True)
    assert desk.intent("put").final
