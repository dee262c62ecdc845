"""Approved calls at a real dispatcher: sent once, and never asked for twice."""

import pytest

from effects.intent import IntentState
from gateway.errors import NotAwaitingApproval
from gateway.principal import everyone
from gateway.service.approvals import Approvals
from gateway.service.views import View
from gateway.turn.dispatching import claim
from gateway.turn.unfolding import Unfolding
from ledger.append import Change
from ledger.change import Licence
from ledger.events import EventType
from ledger.state import StreamState
from tests.gateway.dispatcher.floor import TENANT, Floor, Turn, with_settings
from tests.gateway.toolserver import ok

PAY = '{effect: WRITE, writes: ["{key}"], approval: "amount > 100", approval_expires: 1m, upstream: {http: "URL/pay"}}'


@pytest.fixture
def floor(floor: Floor) -> Floor:
    floor.put_in_force(pay=PAY)
    floor.tools.behave("/pay", ok({"paid": True}))
    return floor


def approve(turn: Turn) -> View:
    floor = turn.floor
    approvals = Approvals(floor.engine, floor.ledger, floor.tables, floor.clock)
    intent = turn.intent
    seen = None if intent.asked is None else intent.asked.definition
    return approvals.approve(everyone(TENANT), turn.key, intent.intent_id, definition=seen)


def test_a_call_waits_for_a_person_and_is_then_sent_once(floor: Floor) -> None:
    turn, small = floor.turn("pay", key="a", amount=101), floor.turn("pay", key="b", amount=100)
    with floor.dispatching():
        small.until(IntentState.SETTLED, final=True)
        assert turn.intent.state is IntentState.AWAITING_APPROVAL
        assert len(floor.tools.received("/pay")) == 1
        approve(turn)
        turn.until(IntentState.SETTLED, final=True)
        with pytest.raises(NotAwaitingApproval):
            approve(turn)
    assert len(floor.tools.received("/pay")) == 2
    assert turn.types.count("dispatch.started") == 1


def test_an_expired_approval_is_asked_for_again_at_the_claim(floor: Floor) -> None:
    turn = floor.turn("pay", key="a", amount=101)
    approve(turn)
    floor.clock.skip(61)
    with floor.dispatching():
        turn.until(IntentState.AWAITING_APPROVAL)
        approve(turn)
        turn.until(IntentState.SETTLED, final=True)
    assert len(floor.tools.received("/pay")) == 1
    assert len(turn.of(EventType.INTENT_APPROVED)) == 2


def test_a_call_was_sent_to_an_address_that_nobody_had_approved(floor: Floor) -> None:
    """The table was changed between approval and claim; the person had seen the old one."""
    turn = floor.turn("pay", key="a", amount=101)
    approve(turn)
    assert turn.intent.state is IntentState.RELEASED
    floor.tools.behave("/elsewhere", ok({"paid": True}))
    floor.put_in_force(pay=PAY.replace("URL/pay", "URL/elsewhere"))
    with floor.dispatching():
        asked = turn.until(IntentState.AWAITING_APPROVAL)
        assert asked.reason == "definition_changed"
        approve(turn)
        turn.until(IntentState.SETTLED, final=True)
    assert (len(floor.tools.received("/pay")), len(floor.tools.received("/elsewhere"))) == (0, 1)
    assert [e["because"] for e in turn.of(EventType.INTENT_AWAITING_APPROVAL)] == [
        "condition",
        "definition_changed",
    ]


def test_an_approval_stays_good_where_only_patience_changes(floor: Floor) -> None:
    turn = floor.turn("pay", key="a", amount=101)
    approve(turn)
    floor.put_in_force(
        pay=PAY.replace("{effect", "{timeout: 7s, max_result: 1000, limits: {rate: 5/s}, effect")
    )
    with floor.dispatching():
        turn.until(IntentState.SETTLED, final=True)
    assert len(floor.tools.received("/pay")) == 1
    assert len(turn.of(EventType.INTENT_APPROVED)) == 1


def test_a_dispatcher_that_dies_between_claim_and_sending_leaves_a_doubt_and_no_second_question(
    floor: Floor,
) -> None:
    turn = floor.turn("pay", key="a", amount=101)
    approve(turn)
    die_after_the_claim(turn)
    with floor.dispatching(with_settings(sweep_interval=0.02)):
        doubt = turn.until(IntentState.IN_DOUBT)
        with pytest.raises(NotAwaitingApproval):
            approve(turn)
    assert doubt.reason == "lease_expired"
    assert floor.tools.received("/pay") == []
    assert turn.types.count("intent.awaiting_approval") == 1


def die_after_the_claim(turn: Turn) -> None:
    """What a dispatcher leaves that is killed when its licence is durable and nothing is sent."""
    floor = turn.floor

    def decide(state: StreamState) -> Change:
        unfolding = Unfolding(state, floor.clock())
        force = floor.tables.current(TENANT)
        sent = claim(unfolding, force, turn.intent.intent_id, worker="dead", epoch=1)
        assert sent is not None
        licence = Licence(
            intent_id=sent.intent_id,
            attempt=sent.attempt,
            branch="main",
            effect=sent.effect.value,
            worker="dead",
            epoch=1,
            lease_seconds=0.0,
            once_key=sent.intent_id,
        )
        return Change(unfolding.events, (licence,))

    floor.ledger.append(TENANT, turn.key, decide)
