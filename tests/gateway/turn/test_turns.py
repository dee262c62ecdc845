"""The life of intents, decided in memory (design.md, "Life of an intent", "Order, freshness, finality")."""

import pytest

from effects.classes import EffectClass
from effects.intent import BlockState, IntentState, Release
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
