"""Reads that were made final with an answer from before a write."""

from datetime import UTC, datetime

import pytest

from ledger.events import Event, EventType
from ledger.reconcile.examine import DispatchRow, Evidence, examine
from ledger.reconcile.finding import FindingKind
from tests.gateway.turn.desk import spell, table
from tests.ledger.liveturn import LiveTurn
from tests.ledger.reconcile.turns import kinds, name_of

K = FindingKind


def test_a_read_made_final_with_an_answer_from_before_a_write_is_stale(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("delete", name="a") + spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    turn.call("delete")
    turn.finish()
    read, seq = turn.intent("read"), turn.state.seq
    assert (read.stale, read.final) == (False, False)  # released to be sent again
    body = {"intent_id": read.intent_id, "attempt": 1, "because_seq": read.settled_seq}
    about = {"branch": "main", "intent_id": read.intent_id, "attempt": 1}
    planter.event(name_of(turn), seq + 1, EventType.INTENT_FINAL, body, **about)
    assert kinds(reconcile()[0]) == [K.STALE_READ_FINAL]


def test_a_read_made_final_while_a_write_before_it_was_not_over_is_stale(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("delete", name="a") + spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    read, seq, name = turn.intent("read"), turn.state.seq, name_of(turn)
    body = {"intent_id": read.intent_id, "attempt": 1, "because_seq": read.settled_seq}
    about = {"branch": "main", "intent_id": read.intent_id, "attempt": 1}
    planter.event(name, seq + 1, EventType.INTENT_FINAL, body, **about)
    planter.sent(name, turn.intent("delete"), seq + 2, effect="WRITE")
    planter.settled(name, turn.intent("delete"), seq + 3)
    assert kinds(reconcile()[0]) == [K.STALE_READ_FINAL]


def test_a_write_after_the_read_does_not_unmake_its_answer(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("read", name="a"))
    turn.call("read")
    turn.say(spell("delete", name="a"))
    turn.call("delete")
    turn.finish()
    assert reconcile()[0] == []


def test_a_write_of_another_key_overtakes_nothing(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("delete", name="b") + spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    turn.call("delete")
    turn.finish()
    assert turn.intent("read").final
    assert reconcile()[0] == []


def two_branches(*, write_final: bool, read_final_at: int) -> list[FindingKind]:
    """A read of branch ``one`` sent at 8 and answered at 9, a write of ``two`` sent at 10 and settled at 11."""
    open_ = {
        "writer_epoch": 1,
        "format": "none",
        "from": "posted",
        "branches": ["one", "two"],
        "binding": {"kind": "single"},
    }
    told = [(EventType.STREAM_OPENED, open_, None)]
    for branch, effect in (("one", "READ_ONLY"), ("two", "WRITE")):
        call = {"intent_id": branch, "span": [0, 1], "ordinal": 0, "round": 0, "closed_seq": len(told) + 1}
        call |= {"byte_start": 0, "byte_end": 2, "tool": branch, "arguments_raw": "{}", "effect": effect}
        call |= {"footprint": {"reads": [], "writes": ["k"], "upstream": "u"}}
        told.append((EventType.TOKENS_ACCEPTED, {"round": 0, "tokens": [{"text": "{}"}]}, branch))
        told.append((EventType.INTENT_HELD, call, branch))
        told.append((EventType.INTENT_RELEASED, {"release": "committed", "effect": effect}, branch))
    for branch, effect in (("one", "READ_ONLY"), ("two", "WRITE")):
        told.append((EventType.DISPATCH_STARTED, {"effect": effect}, branch))
        told.append((EventType.DISPATCH_SETTLED, {"status": "ok"}, branch))
    if write_final:
        told.append((EventType.INTENT_FINAL, {}, "two"))
    told.insert(read_final_at - 1, (EventType.INTENT_FINAL, {}, "one"))
    at = datetime.now(UTC)
    events = [
        Event(
            seq,
            at,
            type_,
            body,
            branch,
            None if type_.startswith(("stream", "tokens")) else branch,
            1 if type_.startswith(("dispatch", "intent.final")) else None,
        )
        for seq, (type_, body, branch) in enumerate(told, 1)
    ]
    begun = {e.branch: e.seq for e in events if e.type is EventType.DISPATCH_STARTED}
    rows = [
        DispatchRow(branch, 1, branch, effect, at, begun[branch], open=False, unsent=False)
        for branch, effect in (("one", "READ_ONLY"), ("two", "WRITE"))
    ]
    return kinds(list(examine(Evidence("t", "k", events, rows), now=at).findings))


@pytest.mark.parametrize("write_final", [True, False])
def test_only_what_another_branch_had_done_by_then_counts(write_final):
    assert two_branches(write_final=write_final, read_final_at=10) == []
    assert two_branches(write_final=write_final, read_final_at=11) == [K.STALE_READ_FINAL]
    assert two_branches(write_final=write_final, read_final_at=12) == [K.STALE_READ_FINAL]


def test_strict_reads_hold_policy_too(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant, force=table(reads="hold"))
    turn.draft(spell("delete", name="a") + spell("read", name="a"))
    turn.rule_all()
    turn.call("delete")
    turn.call("read")
    turn.finish()
    assert reconcile()[0] == []
