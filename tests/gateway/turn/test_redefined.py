"""Tools that the table redefines while their calls wait: what was approved, and what a call touches."""

import pytest

from effects.intent import IntentState
from effects.table import EffectTable
from gateway.errors import ApprovalOfOtherDefinition
from gateway.turn import approving
from gateway.turn.standing import Standing
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.altered import altered
from tests.gateway.turn.desk import spell
from tests.gateway.turn.test_approving import TOOLS, Office

MOVED = """
tools:
  fire:
    effect: WRITE
    writes: ["desk:{name}", "payroll:{name}"]
    approval: required
    upstream: {http: "http://elsewhere.test/fire"}
  wave: {effect: WRITE, writes: ["payroll:{name}"], upstream: {http: "http://elsewhere.test/wave"}}
"""


def moved(version: int = 2) -> TableInForce:
    return TableInForce(version, EffectTable.parse(MOVED))


def test_what_was_approved_under_another_definition_is_asked_for_again() -> None:
    office = Office()
    fire = office.asked("fire", name="x")
    office.approve(fire)
    assert office.now_of(fire).state is IntentState.RELEASED
    office.force = moved()
    assert office.claim(fire) is None
    asked = office.now_of(fire)
    assert (asked.state, asked.reason) == (IntentState.AWAITING_APPROVAL, "definition_changed")
    office.approve(fire)
    sent = office.claim(fire)
    assert sent is not None
    assert sent.upstream.http == "http://elsewhere.test/fire"


def test_going_back_to_what_was_approved_does_not_bring_the_approval_back() -> None:
    office = Office()
    before = office.force
    fire = office.asked("fire", name="x")
    office.approve(fire)
    office.force = moved()
    assert office.claim(fire) is None
    office.force = before
    assert office.claim(fire) is None
    assert office.now_of(fire).state is IntentState.AWAITING_APPROVAL


def test_an_approval_of_which_no_definition_was_recorded_is_bound_to_the_arguments_alone() -> None:
    """Ledgers have such approvals from before definitions were recorded."""
    office = Office()
    fire = office.asked("fire", name="x")
    office.approve(fire)
    approval = office.now_of(fire).approval
    assert approval is not None
    assert approval.definition is not None
    old = altered(office.now_of(fire), approval=altered(approval, definition=None))
    office.state = office.state.with_intents([old], seq=office.state.seq)
    office.force = moved()
    assert office.claim(fire) is not None


def test_a_call_is_ordered_by_what_it_touches_where_it_is_sent() -> None:
    office = Office()
    fire = office.asked("fire", name="x")
    office.force = moved()
    with pytest.raises(ApprovalOfOtherDefinition) as refused:
        office.approve(fire)
    assert refused.value.extra["definition"] == office.force.table.definition("fire")
    office.say(lambda unfolding: approving.ask_anew(unfolding, office.force, fire.intent_id))
    asked = office.now_of(fire)
    assert (asked.state, asked.reason) == (IntentState.AWAITING_APPROVAL, "definition_changed")
    office.approve(fire)
    released = office.now_of(fire)
    assert released.footprint.upstream == "http://elsewhere.test:80"
    assert released.footprint.to_json()["writes"] == ["desk:x", "payroll:x"]


def test_a_released_call_whose_tool_moved_is_released_again_before_it_is_sent() -> None:
    office = Office()
    note = office.asked("note", name="x")
    assert note.state is IntentState.RELEASED
    moved_note = (
        MOVED
        + '  note: {effect: WRITE, writes: ["page:{name}"], upstream: {http: "http://third.test/note"}}\n'
    )
    office.force = TableInForce(2, EffectTable.parse(moved_note))
    sent = office.claim(note)
    assert sent is not None
    assert sent.upstream.http == "http://third.test/note"
    assert office.now_of(note).footprint.upstream == "http://third.test:80"
    assert office.types(note) == ["intent.held", "intent.released", "intent.released", "dispatch.started"]


def test_a_tool_that_the_table_no_longer_has_keeps_the_footprint_of_its_calls() -> None:
    office = Office()
    end = office.draft(spell("fire", name="x"))
    fire = office.intent("fire")
    office.force = TableInForce(2, EffectTable.parse("tools: {}"))
    waiting = Standing(Unfolding(office.state, office.now), office.force).case(fire.intent_id)
    assert waiting.view.footprint == fire.footprint
    office.rule(end, end)
    refused = office.now_of(fire)
    assert (refused.state, refused.reason) == (IntentState.REFUSED, "unknown_tool")
    assert refused.footprint == fire.footprint


def test_a_lost_call_was_sent_again_to_a_place_that_had_never_seen_its_key() -> None:
    office = Office()
    put = office.asked("put", name="x")
    office.approve(put)
    assert office.claim(put) is not None
    office.force = TableInForce(2, EffectTable.parse(TOOLS.replace("127.0.0.1:9/put", "127.0.0.1:10/put")))
    office.lose(office.now_of(put))
    assert office.now_of(put).state is IntentState.IN_DOUBT
    assert office.claim(put) is None


def test_a_schema_that_changed_is_another_definition() -> None:
    office = Office()
    fire = office.asked("fire", name="x")
    office.approve(fire)
    stricter = TOOLS.replace("fire: {", "fire: {schema: {type: object, required: [name]}, ")
    office.force = TableInForce(2, EffectTable.parse(stricter))
    assert office.claim(fire) is None
    assert office.now_of(fire).reason == "definition_changed"


def elsewhere(tool: str) -> TableInForce:
    """Another path at the same host: the footprint says nothing of it."""
    return TableInForce(2, EffectTable.parse(TOOLS.replace(f"127.0.0.1:9/{tool}", "127.0.0.1:9/other")))


def test_a_path_that_changed_within_a_host_made_no_new_release() -> None:
    office = Office()
    note = office.asked("note", name="x")
    before = office.now_of(note).definition
    office.force = elsewhere("note")
    sent = office.claim(note)
    assert sent is not None
    assert office.now_of(note).definition == office.force.table.definition("note") != before
    assert office.types(note) == ["intent.held", "intent.released", "intent.released", "dispatch.started"]


def test_whatever_moves_the_stream_asks_anew_about_what_was_shown_otherwise() -> None:
    office = Office()
    fire = office.asked("fire", name="x")
    office.force = elsewhere("fire")
    office.say(lambda _unfolding: None)
    office.say(lambda _unfolding: None)
    asked = office.now_of(fire)
    assert office.types(fire) == ["intent.held", "intent.awaiting_approval", "intent.awaiting_approval"]
    assert asked.asked is not None
    assert asked.asked.definition == office.force.table.definition("fire")


def test_a_lost_call_is_not_sent_again_to_another_path_that_may_not_know_its_key() -> None:
    office = Office()
    office.force = TableInForce(1, EffectTable.parse(TOOLS.replace("approval: required, ", "")))
    put = office.asked("put", name="x")
    assert office.claim(put) is not None
    unapproved = TOOLS.replace("approval: required, ", "")
    office.force = TableInForce(
        2, EffectTable.parse(unapproved.replace("127.0.0.1:9/put", "127.0.0.1:9/other"))
    )
    office.lose(office.now_of(put))
    assert office.claim(put) is None
    assert office.now_of(put).state is IntentState.IN_DOUBT
    assert office.types(put).count("dispatch.started") == 1
