"""The life of intents, decided in memory (design.md, "Life of an intent", "Order, freshness, finality")."""

import pytest

from effects.classes import EffectClass
from effects.intent import BlockState, IntentState, Release, ResultStatus
from effects.table import EffectTable
from gateway import errors
from gateway.turn import standing as standing_module
from gateway.turn.blocks import MAX_LIVING_CALLS
from gateway.turn.tables import TableInForce
from gateway.turn.tokens import TokenEvent
from ledger.events import Event, EventType
from ledger.fold import fold, initial
from ledger.projection import rows
from tests.gateway.turn.desk import Desk, spell, table


def test_a_write_waits_for_every_token_of_its_block_and_goes_once_they_are_accepted() -> None:
    desk = Desk()
    end = desk.draft(spell("create", name="a"))
    write = desk.intent("create")
    assert (write.state, write.block) == (IntentState.HELD, BlockState.UNDECIDED)
    desk.rule(end - 1, end - 1)
    assert desk.intent("create").state is IntentState.HELD
    assert desk.claim(write) is None
    desk.rule(end, 1)
    write = desk.intent("create")
    assert (write.state, write.release, write.block) == (
        IntentState.RELEASED,
        Release.COMMITTED,
        BlockState.CLEARED,
    )
    assert write.idempotency_key is not None
    assignment = desk.claim(write)
    assert assignment is not None
    assert assignment.arguments_raw == '{"name": "a"}'
    assert desk.settle(write, {"ok": True})
    assert desk.intent("create").final


def test_a_read_goes_early_and_its_answer_is_provisional_until_its_block_is_cleared() -> None:
    desk = Desk()
    desk.draft(spell("read", name="a"))
    read = desk.intent("read")
    assert (read.state, read.release) == (IntentState.RELEASED, Release.EARLY)
    desk.claim(read)
    desk.settle(read, 1)
    assert not desk.intent("read").final
    desk.rule_all()
    read = desk.intent("read")
    assert read.final
    assert read.attempts == 1


def test_an_open_world_read_does_not_speculate() -> None:
    desk = Desk()
    desk.draft(spell("search", q="x"))
    assert desk.intent("search").state is IntentState.HELD
    desk.rule_all()
    assert desk.intent("search").state is IntentState.RELEASED


def test_one_rejected_token_voids_the_block_and_a_redraft_is_a_new_intent() -> None:
    desk = Desk()
    block = spell("create", name="a")
    desk.draft(block)
    first = desk.intent("create")
    desk.rule(7, 6, own=block[24:28])
    assert desk.intent("create").state is IntentState.VOIDED
    assert desk.intent("create").reason == "token_rejected"
    desk.draft(block[28:])
    second = desk.intent("create")
    assert second.intent_id != first.intent_id
    assert (second.round, second.start) == (1, 0)
    desk.rule_all()
    assert desk.intent("create").state is IntentState.RELEASED


def test_drafted_and_rejected_in_one_batch_is_recorded_and_never_sent() -> None:
    desk = Desk()
    drafted = desk.draft_event(spell("read", name="a"))
    n = len(drafted.payload["tokens"])  # type: ignore[arg-type]
    ruled = TokenEvent(EventType.TOKENS_RULED, {"round": 0, "start": 0, "end": n, "accepted": 1})
    desk.write(drafted, ruled)
    read = desk.intent("read")
    assert read.state is IntentState.VOIDED
    assert desk.types(read) == ["intent.held", "intent.voided"]


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


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_stream_that_completes_voids_the_undecided_and_lets_the_cleared_proceed(reason: str) -> None:
    desk = Desk()
    desk.draft(spell("create", name="a"))
    desk.rule_all()
    desk.draft(spell("create", name="b"))
    desk.finish(reason)
    assert desk.intent("create", 0).state is IntentState.RELEASED
    assert desk.intent("create", 1).state is IntentState.VOIDED
    assert desk.intent("create", 1).reason == "stream_ended"


@pytest.mark.parametrize("reason", ["error", "cancelled"])
def test_a_stream_that_aborts_voids_what_was_not_dispatched(reason: str) -> None:
    desk = Desk(table(order="footprint"))
    desk.draft(spell("create", name="a") + spell("create", name="b") + spell("read", name="c"))
    desk.rule_all()
    sent, unsent, read = desk.intent("create", 0), desk.intent("create", 1), desk.intent("read")
    desk.claim(sent)
    desk.claim(read)
    desk.finish(reason)
    assert desk.intent("create", 1).state is IntentState.VOIDED
    assert desk.claim(unsent) is None
    desk.settle(sent)
    desk.settle(read, 1)
    assert desk.intent("create", 0).final
    assert desk.intent("read").final


def test_a_call_that_does_not_parse_is_refused_at_clearing_and_orders_others_until_then() -> None:
    desk = Desk()
    desk.draft(
        '<tool_call>{"name": "create", "arguments": {"name": "a"}</tool_call>' + spell("read", name="a")
    )
    broken = next(i for i in desk.state.intents.values() if i.tool is None)
    assert (broken.state, broken.effect) == (IntentState.HELD, EffectClass.WRITE)
    assert desk.intent("read").state is IntentState.HELD
    desk.rule_all()
    broken = desk.state.intents[broken.intent_id]
    assert (broken.state, broken.reason) == (IntentState.REFUSED, "json_syntax")
    assert desk.intent("read").state is IntentState.RELEASED


def test_an_unknown_tool_is_held_as_a_write_and_refused_at_clearing() -> None:
    desk = Desk()
    desk.draft(spell("rm", path="/"))
    assert desk.intent("rm").effect is EffectClass.WRITE
    desk.rule_all()
    assert (desk.intent("rm").state, desk.intent("rm").reason) == (IntentState.REFUSED, "unknown_tool")


def test_a_takeover_voids_undecided_drafts_and_fences_the_older_writer() -> None:
    desk = Desk()
    desk.draft(spell("create", name="a"))
    assert not desk.open()
    main = desk.state.branches["main"]
    assert (main.round, main.drafted_end, desk.state.writer_epoch) == (1, 0, 2)
    assert desk.intent("create").reason == "taken_over"
    with pytest.raises(errors.StaleWriter):
        desk.write(desk.draft_event("x"), epoch=1)
    desk.open()
    assert desk.state.branches["main"].round == 1


def test_a_class_raised_before_release_counts_and_one_lowered_does_not() -> None:
    raised = """
tools:
  read: {effect: WRITE, writes: ["thing:{name}"], upstream: {http: "http://127.0.0.1:9/tools/read"}}
"""
    desk = Desk()
    desk.draft(spell("search", q="a") + spell("read", name="a"))
    desk.claim(desk.intent("read"))
    desk.force = TableInForce(2, EffectTable.parse(raised))
    desk.settle(desk.intent("read"), 1)
    desk.rule_all()
    assert desk.intent("read").final
    low = Desk()
    low.draft(spell("create", name="a"))
    lowered = raised.replace("read:", "create:").replace("WRITE", "READ_ONLY").replace("writes", "reads")
    low.force = TableInForce(2, EffectTable.parse(lowered))
    low.wait(0)
    assert low.intent("create").state is IntentState.HELD
    low.rule_all()
    assert low.intent("create").effect is EffectClass.WRITE


def test_posted_intents_are_checked_against_the_tokens_in_the_order_of_the_interface() -> None:
    desk = Desk(source="posted")
    end = desk.draft(spell("create", name="a"))
    assert not desk.state.intents
    with pytest.raises(errors.WrongRound):
        desk.post("create", {"name": "a"}, (0, end), round_=1)
    with pytest.raises(errors.SpanNotDrafted):
        desk.post("create", {"name": "a"}, (0, end + 1))
    with pytest.raises(errors.DivergesFromTokens) as span:
        desk.post("create", {"name": "a"}, (0, end - 1))
    with pytest.raises(errors.DivergesFromTokens) as tool:
        desk.post("delete", {"name": "a"}, (0, end))
    with pytest.raises(errors.DivergesFromTokens) as arguments:
        desk.post("create", {"name": "b"}, (0, end))
    fields = [e.value.extra["field"] for e in (span, tool, arguments)]
    assert fields == ["span", "tool", "arguments"]
    assert not desk.post("create", {"name": "a"}, (0, end))
    assert desk.post("create", {"name": "a"}, (0, end))
    with pytest.raises(errors.SpanOverlap):
        desk.post("create", {"name": "a"}, (1, end))
    desk.rule_all()
    assert desk.post("create", {"name": "a"}, (0, end), round_=None)
    assert desk.intent("create").state is IntentState.RELEASED


def test_an_earlier_block_cannot_be_posted_behind_a_later_one() -> None:
    desk = Desk(source="posted", size=1)
    first, second = spell("create", name="a"), spell("read", name="a")
    desk.draft(first + second)
    desk.post("read", {"name": "a"}, (len(first), len(first) + len(second)))
    with pytest.raises(errors.SpanOrder):
        desk.post("create", {"name": "a"}, (0, len(first)))


def test_refolding_the_events_gives_the_same_state_and_rows() -> None:
    desk = Desk(table(reads="send"))
    desk.draft(spell("delete", name="a") + spell("read", name="a"))
    desk.claim(desk.intent("read"))
    desk.settle(desk.intent("read"), {"x": 1.5})
    desk.rule(12, 3, own="?")
    desk.accept(spell("create", name="q"))
    desk.claim(desk.intent("create"))
    desk.lose(desk.intent("create"))
    desk.finish()
    state = initial("t", "k")
    for seq, new in enumerate(desk.log, start=1):
        state = fold(
            state, Event(seq, desk.now, new.type, new.payload, new.branch, new.intent_id, new.attempt)
        )
    mine = rows(initial("t", "k"), desk.state)
    again = rows(initial("t", "k"), state)
    assert desk.state.branches == state.branches
    assert [r["intent_id"] for r in mine.intents] == [r["intent_id"] for r in again.intents]
    assert [{**r, "retry_at": None} for r in mine.intents] == [{**r, "retry_at": None} for r in again.intents]


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


def test_a_nul_escaped_in_a_call_reaches_neither_key_nor_name() -> None:
    desk = Desk()
    desk.draft(r'<tool_call>{"name": "read", "arguments": {"name": "a\u0000b"}}</tool_call>')
    assert desk.intent("read").footprint.reads is None
    desk.draft(r'<tool_call>{"name": "re\u0000ad", "arguments": {}}</tool_call>')
    assert {i.problem for i in desk.state.intents.values()} == {None, "name_with_nul"}
    assert all("\0" not in str(i.tool) for i in desk.state.intents.values())


def test_a_message_holds_a_bounded_number_of_calls_and_deciding_about_them_stays_cheap() -> None:
    desk = Desk(size=4096)
    for n in range(32):
        desk.draft("".join(spell("create", name=f"n{n}x{i}") for i in range(16)))
    assert len(desk.state.intents) == MAX_LIVING_CALLS
    with pytest.raises(errors.TooManyCalls):
        desk.draft(spell("create", name="one more"))
    assert len(desk.state.intents) == MAX_LIVING_CALLS
    views = 0
    original = standing_module.order.CallView

    def counting(*args: object, **named: object) -> object:
        nonlocal views
        views += 1
        return original(*args, **named)  # type: ignore[arg-type]

    standing_module.order.CallView = counting  # type: ignore[misc,assignment]
    try:
        desk.rule_all()
    finally:
        standing_module.order.CallView = original  # type: ignore[misc]
    assert views < 4 * MAX_LIVING_CALLS


def test_an_idempotency_key_does_not_depend_on_how_the_text_was_cut() -> None:
    """Two blocks that begin in one token are counted together; each is still the first call of its own block."""
    text = spell("put", name="a") + spell("put", name="b")
    keys = []
    for size in (len(text), 4, 1):
        desk = Desk(size=size)
        desk.accept(text)
        desk.claim(desk.intent("put", 0))
        desk.settle(desk.intent("put", 0))
        keys.append([desk.intent("put", nth).idempotency_key for nth in (0, 1)])
    assert None not in keys[0]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys[0])) == 2
