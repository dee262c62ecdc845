"""Mishaps that others reported, decided in memory: what a call is, when it may go, and whose answer is given."""

from effects.classes import EffectClass
from effects.intent import IntentState, ResultStatus
from gateway.turn import dispatching
from gateway.turn.posting import PostedIntent, post_intent
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from tests.gateway.turn.desk import Desk, spell, table


def test_one_call_that_shows_up_four_times_under_fresh_ids_is_one_dispatch() -> None:
    """ag-ui #968: preview, aggregate, final and executor each brought an id of their own."""
    desk = Desk(source="posted")
    end = desk.draft(spell("create", name="a"))
    for number in range(4):
        unfolding = Unfolding(desk.state, desk.now)
        posted = PostedIntent("main", 0, 0, end, 0, "create", {"name": "a"}, f"call_{number}")
        _, replayed = post_intent(unfolding, posted, desk.scanner, desk.force)
        desk._take(unfolding)
        assert replayed is (number > 0)
    desk.rule_all()
    [intent] = desk.state.intents.values()
    assert intent.call_id == "call_3"
    assert desk.claim(intent) is not None
    assert desk.claim(intent) is None


def test_recovery_speaks_and_the_real_outcome_comes_after_it() -> None:
    """OpenHands #2298: two outcomes for one id. One settles; the other is an event of its own beside it."""
    desk = Desk()
    desk.draft(spell("create", name="a"))
    desk.rule_all()
    write = desk.intent("create")
    desk.claim(write)
    desk.lose(write)
    desk.resolve(write, happened=False)
    assert not desk.settle(write, "done after all")
    assert desk.intent("create").result_status is ResultStatus.NOT_HAPPENED
    terminal = [
        t for t in desk.types(write) if t in ("dispatch.settled", "dispatch.resolved", "intent.final")
    ]
    assert terminal == ["dispatch.resolved", "intent.final"]
    assert desk.types(write)[-1] == "dispatch.late"


def test_a_verdict_that_comes_after_the_write_is_spelled_out_finds_nothing_done() -> None:
    """openai-agents #624: the tool ran before the guardrail tripped."""
    for verdict in ("accept", "reject"):
        desk = Desk()
        end = desk.draft(spell("create", name="a"))
        write = desk.intent("create")
        assert desk.claim(write) is None, "complete, and nobody has ruled on it"
        desk.rule(end, 0 if verdict == "reject" else end, own="no" if verdict == "reject" else None)
        assert (desk.claim(write) is None) is (verdict == "reject")
        starts = [e for e in desk.log if e.type is EventType.DISPATCH_STARTED]
        assert len(starts) == (0 if verdict == "reject" else 1)


def test_a_read_of_a_stream_that_is_thrown_away_is_kept_and_its_answer_given_to_nobody() -> None:
    """mastra PR 24211: a tool was started from a stream that was then asked for anew."""
    desk = Desk()
    desk.draft(spell("read", name="a") + spell("create", name="a"))
    read, write = desk.intent("read"), desk.intent("create")
    desk.claim(read)
    desk.settle(read, "paid for")
    desk.finish("error")
    kept = desk.intent("read")
    assert (kept.state, kept.final, kept.result_content, kept.attempts) == (
        IntentState.VOIDED, False, "paid for", 1,
    )  # fmt: skip
    assert desk.types(write) == ["intent.held", "intent.voided"], "an early WRITE cannot exist"


def test_nobody_on_the_way_lowers_the_class_of_a_call() -> None:
    """zeph #5900: a wrapper forgot that a call needed confirmation. Unknown is WRITE, and a class once given only rises."""
    desk = Desk()
    desk.draft(spell("wrapped_create", name="a") + spell("create", name="b"))
    assert desk.intent("wrapped_create").effect is EffectClass.WRITE
    assert {i.state for i in desk.state.intents.values()} == {IntentState.HELD}
    lowered = desk.force.table.document()
    lowered["tools"]["create"] |= {"effect": "READ_ONLY"}  # type: ignore[index,call-overload,operator]
    lowered["tools"]["create"].pop("writes")  # type: ignore[index,call-overload,union-attr]
    desk.force = type(desk.force)(2, type(desk.force.table).from_document(lowered))
    desk.wait(0)
    assert desk.intent("create").state is IntentState.HELD
    assert desk.intent("create").effect is EffectClass.WRITE


def test_a_read_is_stale_by_a_write_before_it_and_not_by_one_behind_it() -> None:
    """gemini-cli PR 10287: a read of the same turn overtook the write."""
    before = Desk(table(reads="send"))
    before.draft(spell("delete", name="a") + spell("read", name="a"))
    behind = Desk(table(reads="send"))
    behind.draft(spell("read", name="a") + spell("delete", name="a"))
    for desk in (before, behind):
        desk.claim(desk.intent("read"))
        desk.settle(desk.intent("read"), "old")
        desk.rule_all()
        assert desk.claim(desk.intent("delete")) is not None
        desk.settle(desk.intent("delete"))
    assert "intent.stale" in before.types(before.intent("read"))
    assert not before.intent("read").final
    assert "intent.stale" not in behind.types(behind.intent("read"))
    assert (behind.intent("read").final, behind.intent("read").result_content) == (True, "old")


def test_a_lease_outlived_by_a_slow_call_leaves_a_doubt_that_the_late_answer_settles() -> None:
    """langgraph #7213: a call of 200 s was sent again after 180 s while it ran; both succeeded."""
    desk = Desk()
    desk.draft(spell("create", name="a"))
    desk.rule_all()
    write = desk.intent("create")
    assert desk.claim(write) is not None
    desk.lose(write)
    assert desk.intent("create").state is IntentState.IN_DOUBT
    assert desk.claim(write) is None
    assert not desk.settle(write, "slow, and done")
    assert (desk.intent("create").final, desk.intent("create").result_content) == (True, "slow, and done")
    assert desk.types(write).count("dispatch.started") == 1
    assert not dispatching.awaits(desk.intent("create"), 1)
