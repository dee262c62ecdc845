"""A call that may have happened is never dropped: not by the end of its stream, not by a change of the effect table."""

import pytest

from effects.intent import IntentState
from effects.table import EffectTable
from gateway.turn.tables import TableInForce
from tests.gateway.turn.desk import TOOLS, Desk, spell, table

HOLD = TOOLS.format(order="strict", reads="hold")
READ = 'read: {effect: READ_ONLY, reads: ["thing:{name}"]'
PUT = "put: {effect: IDEMPOTENT, window: 1h"


def changed(before: str, after: str) -> TableInForce:
    assert before in HOLD
    return TableInForce(2, EffectTable.parse(HOLD.replace(before, after)))


@pytest.mark.parametrize("reason", ["error", "cancelled"])
def test_a_lost_idempotent_call_runs_to_its_outcome_after_its_stream_was_aborted(reason: str) -> None:
    desk = Desk()
    desk.accept(spell("put", name="x"))
    put = desk.intent("put")
    assert desk.claim(put)
    desk.finish(reason)
    desk.lose(put)
    assert desk.intent("put").state is IntentState.RELEASED
    again = desk.claim(put)
    assert again is not None
    desk.settle(put)
    assert desk.intent("put").final


def test_a_read_overtaken_by_a_lost_call_is_not_final_in_an_aborted_stream() -> None:
    desk = Desk(table(reads="send"))
    desk.draft(spell("put", name="x") + spell("read", name="x"))
    read = desk.intent("read")
    assert desk.claim(read)
    desk.settle(read, "old")
    desk.rule_all()
    put = desk.intent("put")
    assert desk.claim(put)
    desk.lose(put, retry_after=5)
    desk.finish("error")
    assert not desk.intent("read").final
    desk.wait(6)
    desk.claim(put)
    desk.settle(put)
    assert not desk.intent("read").final


def test_a_lost_call_whose_tool_left_the_table_is_in_doubt_and_not_refused() -> None:
    desk = Desk()
    desk.accept(spell("put", name="x"))
    put = desk.intent("put")
    assert desk.claim(put)
    desk.lose(put, retry_after=5)
    desk.force = TableInForce(2, EffectTable.parse("tools: {}"))
    desk.wait(10)
    assert desk.intent("put").state is IntentState.IN_DOUBT


@pytest.mark.parametrize(
    ("tool", "before", "after"),
    [
        ("read", READ, 'read: {effect: WRITE, writes: ["thing:{name}"]'),
        ("put", PUT, "put: {effect: WRITE"),
    ],
)
def test_a_class_raised_between_release_and_claim_counts(tool: str, before: str, after: str) -> None:
    desk = Desk()
    desk.accept(spell(tool, name="x"))
    call = desk.intent(tool)
    assert call.state is IntentState.RELEASED
    desk.force = changed(before, after)
    assignment = desk.claim(call)
    assert assignment is not None
    assert (assignment.effect, assignment.idempotency_key is None) == ("WRITE", False)


@pytest.mark.parametrize("after", ["IDEMPOTENT, window: 1h", "WRITE"])
def test_a_lost_read_whose_class_was_raised_is_not_sent_again(after: str) -> None:
    desk = Desk()
    desk.accept(spell("read", name="x"))
    read = desk.intent("read")
    assert desk.claim(read)
    desk.force = changed(READ, f'read: {{effect: {after}, writes: ["thing:{{name}}"]')
    desk.lose(read)
    assert desk.claim(read) is None
    assert desk.intent("read").state is not IntentState.RELEASED


def test_a_raised_class_brings_its_footprint_into_the_order() -> None:
    tools = """
policy: {write_order: footprint, reads_behind_writes: hold}
tools:
  odd: {effect: %s, upstream: {http: "http://127.0.0.1:9/tools/odd"}}
  read: {effect: READ_ONLY, reads: ["thing:{name}"], upstream: {http: "http://127.0.0.1:9/tools/read"}}
"""
    desk = Desk(TableInForce(1, EffectTable.parse(tools % 'READ_ONLY, reads: ["a:{name}"]')))
    desk.draft(spell("odd", name="x"))
    desk.force = TableInForce(2, EffectTable.parse(tools % "WRITE"))
    desk.draft(spell("read", name="x"))
    desk.rule_all()
    assert desk.intent("read").state is IntentState.HELD
    desk.claim(desk.intent("odd"))
    assert desk.intent("read").state is IntentState.HELD
