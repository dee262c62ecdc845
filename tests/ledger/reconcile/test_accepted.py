"""What was accepted and never sent, and what was sent otherwise than the tokens spell it."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from ledger.events import EventType
from ledger.reconcile.finding import FindingKind
from ledger.sharding import shard_of_tenant
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn, find_blocks
from tests.ledger.reconcile.turns import kinds, name_of

K = FindingKind


def test_an_accepted_call_that_nobody_sent_is_lost(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish()
    findings, _ = reconcile()
    assert [(f.kind, f.intent_id) for f in findings] == [(K.LOST_EFFECT, turn.intent("create").intent_id)]


@pytest.mark.parametrize("finished", [True, False])
def test_a_young_stream_has_lost_nothing_yet(ledger, tenant, reconcile, finished):
    turn = LiveTurn(ledger, tenant, age=timedelta(minutes=5))
    turn.say(spell("create", name="a"))
    if finished:
        turn.finish()
    assert reconcile()[0] == []
    assert kinds(reconcile(grace=timedelta(minutes=4))[0]) == [K.LOST_EFFECT]


def test_what_waits_behind_a_doubt_is_not_lost(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a") + spell("delete", name="b") + spell("read", name="a"))
    turn.finish()
    turn.claim("create")
    turn.lose("create")
    assert kinds(reconcile()[0]) == [K.IN_DOUBT]


def test_what_an_operator_paused_waits_and_is_not_lost(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish()
    insert = "insert into ledger.pauses values (:shard, :tenant, '*', 'o', 'maintenance', now())"
    with planter.engine.begin() as connection:
        connection.execute(text(insert), {"shard": shard_of_tenant(tenant), "tenant": tenant})
    findings, found = reconcile()
    assert (findings, found.summary.paused) == ([], 1)


def test_an_accepted_block_that_was_never_held_is_lost(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say("So: ")
    block = spell("create", name="a")
    name, seq, head = name_of(turn), turn.state.seq, turn.state.branches["main"].head
    body = {"round": 0, "tokens": [{"text": block}]}
    planter.event(name, seq + 1, EventType.TOKENS_ACCEPTED, body, branch="main", head_after=head + 1)
    planter.event(name, seq + 2, EventType.STREAM_FINISHED, {"reason": "stop"})
    findings, _ = reconcile()
    assert [(f.kind, f.intent_id, f.tool, f.seq) for f in findings] == [
        (K.LOST_EFFECT, None, "create", seq + 1)
    ]
    assert reconcile(find_blocks=None)[0] == []


def test_a_call_voided_although_its_tokens_are_accepted_is_lost(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish()
    intent = turn.intent("create")
    body = {"intent_id": intent.intent_id, "reason": "token_rejected"}
    about = {"branch": "main", "intent_id": intent.intent_id}
    planter.event(name_of(turn), turn.state.seq + 1, EventType.INTENT_VOIDED, body, **about)
    assert kinds(reconcile()[0]) == [K.LOST_EFFECT]


@pytest.mark.parametrize("detector", [find_blocks, None])
def test_arguments_that_the_tokens_do_not_spell_are_a_mismatch(ledger, tenant, reconcile, planter, detector):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.call("create")
    turn.finish()
    assert reconcile(find_blocks=detector)[0] == []
    held = next(e for e in turn.events if e.type is EventType.INTENT_HELD)
    planter.change_payload(name_of(turn), held.seq, {**held.payload, "arguments_raw": '{"name": "b"}'})
    assert kinds(reconcile(find_blocks=detector)[0]) == [K.ARGUMENT_MISMATCH]


def test_another_tool_than_the_tokens_spell_is_a_mismatch(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.call("create")
    held = next(e for e in turn.events if e.type is EventType.INTENT_HELD)
    planter.change_payload(name_of(turn), held.seq, {**held.payload, "tool": "delete"})
    assert kinds(reconcile()[0]) == [K.ARGUMENT_MISMATCH]
