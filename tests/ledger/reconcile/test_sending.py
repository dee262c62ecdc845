"""What was sent without acceptance, more than once, or with an outcome that nobody knows."""

from datetime import UTC, datetime, timedelta

from ledger.events import EventType
from ledger.reconcile.finding import FindingKind
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn
from tests.ledger.reconcile.turns import kinds, name_of

K = FindingKind


def test_a_write_sent_on_drafts_is_an_orphan(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("create", name="a"))
    planter.sent(name_of(turn), turn.intent("create"), turn.state.seq + 1, effect="WRITE")
    findings, _ = reconcile()
    assert kinds(findings) == [K.ORPHAN_EFFECT]
    assert findings[0].intent_id == turn.intent("create").intent_id
    assert (findings[0].tool, findings[0].severity) == ("create", "violation")


def test_a_read_sent_on_drafts_is_none(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("read", name="a"))
    turn.call("read")
    assert reconcile()[0] == []


def test_a_write_of_a_rejected_block_is_an_orphan_although_its_place_is_accepted_since(
    ledger, tenant, reconcile, planter
):
    turn = LiveTurn(ledger, tenant)
    end = turn.draft(spell("create", name="bad"))
    turn.rule(end, end - 3)
    turn.say(spell("create", name="gut")[(end - 3) * 4 :])
    rejected = turn.intent("create", 0)
    assert (rejected.start, rejected.end) == (turn.intent("create").start, turn.intent("create").end)
    turn.call("create")
    assert reconcile()[0] == []
    planter.sent(name_of(turn), rejected, turn.state.seq + 1, effect="WRITE")
    findings, _ = reconcile()
    assert [(f.kind, f.intent_id) for f in findings] == [(K.ORPHAN_EFFECT, rejected.intent_id)]


def test_a_ruling_that_comes_after_the_dispatch_does_not_make_it_right(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    end = turn.draft(spell("create", name="a"))
    name, seq, intent = name_of(turn), turn.state.seq, turn.intent("create")
    planter.sent(name, intent, seq + 1, effect="WRITE")
    body = {"round": 0, "start": 0, "end": end, "accepted": end}
    planter.event(name, seq + 2, EventType.TOKENS_RULED, body, branch="main", head_after=end)
    assert kinds(reconcile()[0]) == [K.ORPHAN_EFFECT]


def test_acceptance_is_worked_out_from_tokens_and_not_from_the_columns(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    end = turn.draft(spell("create", name="a"))
    name, seq, intent = name_of(turn), turn.state.seq, turn.intent("create")
    body = {"round": 0, "start": 0, "end": 4, "accepted": 4}
    planter.event(name, seq + 1, EventType.TOKENS_RULED, body, branch="main", head_after=end)
    cleared = {"span": [0, end], "round": 0, "intents": [intent.intent_id]}
    planter.event(name, seq + 2, EventType.BLOCK_CLEARED, cleared, branch="main")
    planter.sent(name, intent, seq + 3, effect="WRITE")
    assert kinds(reconcile()[0]) == [K.ORPHAN_EFFECT]


def test_a_write_recorded_as_a_read_in_its_dispatch_alone_is_an_orphan(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("create", name="a"))
    planter.sent(name_of(turn), turn.intent("create"), turn.state.seq + 1, effect="READ_ONLY")
    assert kinds(reconcile()[0]) == [K.ORPHAN_EFFECT]


def test_a_write_sent_twice_is_a_duplicate(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    intent = turn.call("create")
    turn.finish()
    name, seq = name_of(turn), turn.state.seq
    planter.sent(name, intent, seq + 1, attempt=2, effect="WRITE")
    planter.settled(name, intent, seq + 2, attempt=2)
    assert kinds(reconcile()[0]) == [K.DUPLICATE]


def test_an_idempotent_call_sent_twice_is_none(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("put", name="a"))
    turn.claim("put")
    turn.lose("put")
    turn.call("put")
    turn.finish()
    assert turn.intent("put").attempts == 2
    assert reconcile()[0] == []


def test_a_first_attempt_that_was_certainly_unsent_does_not_count(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.settle("create", unsent=True)
    turn.finish()
    name, seq, intent = name_of(turn), turn.state.seq, turn.intent("create")
    planter.sent(name, intent, seq + 1, attempt=2, effect="WRITE")
    planter.settled(name, intent, seq + 2, attempt=2)
    assert reconcile()[0] == []


def test_an_open_doubt_is_a_finding_until_it_is_resolved(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.lose("create")
    findings, _ = reconcile()
    assert [(f.kind, f.severity) for f in findings] == [(K.IN_DOUBT, "attention")]
    turn.resolve("create", happened=False)
    assert reconcile()[0] == []


def test_a_dispatch_that_outlived_its_lease_unnoticed_is_in_doubt(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create", lease=1.0)
    assert reconcile()[0] == []
    assert kinds(reconcile(now=datetime.now(UTC) + timedelta(hours=1))[0]) == [K.IN_DOUBT]


def test_an_outcome_after_the_resolution_is_late_evidence(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.lose("create")
    turn.resolve("create", happened=False)
    turn.settle("create")
    assert turn.events[-1].type == EventType.DISPATCH_LATE
    assert kinds(reconcile()[0]) == [K.LATE_EVIDENCE]


def test_an_outcome_that_settles_the_doubt_itself_is_none(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.lose("create")
    turn.settle("create")
    assert reconcile()[0] == []


def test_a_late_outcome_before_the_resolution_is_none(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant, age=timedelta(hours=5))
    turn.say(spell("put", name="a"))
    turn.claim("put")
    turn.lose("put")
    turn.claim("put")
    turn.settle("put", attempt=1)
    assert turn.events[-1].type == EventType.DISPATCH_LATE
    turn.now += timedelta(hours=2)  # beyond the window of the tool
    turn.lose("put")
    assert turn.intent("put").state == "in_doubt"
    turn.resolve("put", happened=True)
    assert reconcile()[0] == []
