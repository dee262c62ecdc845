"""A read takes the answer of a voided early read that asked the same (design.md, "Life of an intent")."""

from dataclasses import replace
from datetime import datetime

import pytest

from effects.intent import IntentState, Release, ResultStatus
from effects.table import EffectTable
from gateway.service.views import intent_view
from gateway.turn import adopting
from gateway.turn.standing import Case, Standing
from gateway.turn.tables import TableInForce
from ledger.events import Event, EventType
from ledger.fold import fold, initial
from ledger.projection import rows
from ledger.state import Intent
from tests.gateway.turn.desk import Desk, spell, table

READ = spell("read", name="a")
AGING = """
tools:
  read: {effect: READ_ONLY, reads: [], max_age: 10s, upstream: {http: "http://127.0.0.1:9/tools/read"}}
"""


def thrown_away(desk: Desk, *, answered: bool = True, text: str = READ, before: str = "Well, ") -> Intent:
    """An early read that is sent, and voided since a token before it is rejected."""
    desk.draft(before + text)
    read = desk.intent("read")
    assert desk.claim(read) is not None
    if answered:
        desk.settle(read, "the answer")
    desk.rule(desk.state.branches["main"].drafted_end, 0, own="So: ")
    voided = desk.intent("read")
    assert voided.state is IntentState.VOIDED
    return voided


def starts(desk: Desk) -> int:
    return sum(event.type is EventType.DISPATCH_STARTED for event in desk.log)


def test_a_redrafted_read_adopts_the_answer_of_the_voided_one_at_another_position() -> None:
    desk = Desk()
    source = thrown_away(desk)
    desk.draft("once more " + READ)
    read = desk.intent("read")
    assert read.start != source.start
    assert (read.state, read.adopted_from, read.final) == (IntentState.SETTLED, source.intent_id, False)
    assert read.dispatch_seq == source.dispatch_seq
    desk.rule_all()
    read = desk.intent("read")
    assert (read.final, read.result_content, read.attempts) == (True, "the answer", 0)
    assert starts(desk) == 1
    assert intent_view(desk.state, read, lambda _: None)["adopted_from"] == source.intent_id
    [adopted] = [e for e in desk.log if e.type is EventType.INTENT_ADOPTED]
    assert adopted.payload == {"intent_id": read.intent_id, "from": source.intent_id, "attempt": 1}
    assert adopted.attempt is None
    assert desk.types(read)[-2:] == ["intent.adopted", "intent.final"]


def test_a_read_that_was_never_drafted_adopts_when_it_clears() -> None:
    desk = Desk()
    source = thrown_away(desk)
    desk.accept(READ)
    read = desk.intent("read")
    assert (read.final, read.adopted_from, starts(desk)) == (True, source.intent_id, 1)


def test_a_read_in_flight_is_adopted_and_its_outcome_settles_everyone_who_did() -> None:
    desk = Desk()
    source = thrown_away(desk, answered=False)
    desk.accept(READ + READ)
    first, second = desk.intent("read", -2), desk.intent("read", -1)
    assert {first.state, second.state} == {IntentState.DISPATCHED}
    assert {first.adopted_from, second.adopted_from} == {source.intent_id}
    desk.settle(source, 7)
    for read in (desk.intent("read", -2), desk.intent("read", -1)):
        assert (read.final, read.result_content) == (True, 7)
    assert desk.intent("read", 0).state is IntentState.VOIDED
    assert starts(desk) == 1


@pytest.mark.parametrize("end", ["unavailable", "lost"])
def test_who_adopted_a_read_that_comes_to_nothing_is_decided_again(end: str) -> None:
    desk = Desk()
    source = thrown_away(desk, answered=False)
    desk.accept(READ)
    desk.unavailable(source) if end == "unavailable" else desk.lose(source)
    read = desk.intent("read")
    assert (read.state, read.release, read.adopted_from) == (IntentState.RELEASED, Release.COMMITTED, None)
    assert desk.types(read)[-2:] == ["intent.held", "intent.released"]
    assert desk.claim(read) is not None
    desk.settle(read, "own")
    assert desk.intent("read").final


def test_an_unavailable_answer_is_not_adopted() -> None:
    desk = Desk()
    desk.draft("Well, " + READ)
    desk.claim(desk.intent("read"))
    desk.unavailable(desk.intent("read"))
    desk.rule(desk.state.branches["main"].drafted_end, 0, own="So: ")
    desk.accept(READ)
    assert desk.types(desk.intent("read")) == ["intent.held", "intent.released"]


@pytest.mark.parametrize("other", [spell("read", name="b"), spell("search", name="a")])
def test_other_arguments_or_another_tool_are_not_adopted(other: str) -> None:
    desk = Desk()
    thrown_away(desk)
    desk.accept(other)
    assert next(i for i in desk.state.intents.values() if not i.terminal).state is IntentState.RELEASED


def test_arguments_are_equal_by_their_canonical_form() -> None:
    desk = Desk()
    source = thrown_away(desk)
    desk.accept('<tool_call>{"arguments":{ "name" : "a" },"name":"read"}</tool_call>')
    assert desk.intent("read").adopted_from == source.intent_id


def test_an_answer_under_another_version_of_the_table_is_not_adopted() -> None:
    desk = Desk()
    thrown_away(desk)
    desk.force = table(version=2)
    desk.accept(READ)
    assert desk.intent("read").state is IntentState.RELEASED


def test_freshness_counts_from_the_original_dispatch() -> None:
    desk = Desk(table(reads="send"))
    thrown_away(desk, text=READ)
    desk.accept(spell("delete", name="a"))
    desk.claim(desk.intent("delete"))
    desk.settle(desk.intent("delete"))
    desk.accept(READ)
    # A delete was settled after the answer was asked for.
    assert desk.types(desk.intent("read")) == ["intent.held", "intent.released"]


def test_a_write_that_the_read_stands_before_does_not_make_it_too_old() -> None:
    desk = Desk()
    source = thrown_away(desk)
    desk.accept(READ + spell("delete", name="a"))
    assert desk.intent("read").adopted_from == source.intent_id
    assert desk.intent("delete").state is IntentState.RELEASED


def test_an_adopted_answer_that_is_overtaken_is_stale_and_the_read_sends_its_own() -> None:
    desk = Desk(table(reads="send"))
    source = thrown_away(desk)
    desk.draft(spell("delete", name="a") + READ)
    assert desk.intent("read").adopted_from == source.intent_id
    desk.rule_all()
    desk.claim(desk.intent("delete"))
    desk.settle(desk.intent("delete"))
    read = desk.intent("read")
    assert (read.state, read.release) == (IntentState.RELEASED, Release.COMMITTED)
    [stale] = [e for e in desk.log if e.type is EventType.INTENT_STALE]
    assert (stale.attempt, stale.payload["from"]) == (None, source.intent_id)
    assert desk.claim(read) is not None
    desk.settle(read, "newer")
    read = desk.intent("read")
    assert (read.final, read.result_content, read.adopted_from, read.attempts) == (True, "newer", None, 1)


def test_max_age_counts_from_the_original_dispatch() -> None:
    force = TableInForce(1, EffectTable.parse(AGING))
    young, old = Desk(force), Desk(force)
    for desk, age in ((young, 9.0), (old, 11.0)):
        thrown_away(desk)
        desk.wait(age)
        desk.accept(READ)
    assert young.intent("read").final
    assert old.intent("read").state is IntentState.RELEASED
    late = Desk(force)
    thrown_away(late)
    late.draft(READ)
    late.wait(11.0)
    late.rule_all()
    read = late.intent("read")
    assert (read.stale, read.state) == (False, IntentState.RELEASED)
    assert "intent.stale" in late.types(read)


def test_while_a_twin_lives_an_equal_read_is_not_sent_early_and_sends_its_own_when_cleared() -> None:
    desk = Desk()
    end = desk.draft(READ + " ")
    first = desk.intent("read")
    desk.claim(first)
    desk.settle(first, 1)
    desk.draft(READ)
    second = desk.intent("read")
    assert second.intent_id != first.intent_id
    assert (second.state, second.adopted_from) == (IntentState.HELD, None)
    desk.rule_all()
    assert end
    first, second = desk.state.intents[first.intent_id], desk.intent("read")
    assert (first.final, first.result_content) == (True, 1)
    assert (second.state, second.release, second.adopted_from) == (
        IntentState.RELEASED,
        Release.COMMITTED,
        None,
    )


def test_once_its_twin_is_voided_a_held_read_adopts_what_the_twin_was_answered() -> None:
    desk = Desk()
    desk.size = 1000
    desk.draft(READ)
    first = desk.intent("read")
    desk.claim(first)
    desk.settle(first, 1)
    desk.draft(READ)
    assert desk.intent("read").state is IntentState.HELD
    desk.rule(desk.state.branches["main"].drafted_end, 0, own="no ")
    desk.draft("x" + READ)
    assert desk.intent("read").adopted_from == first.intent_id


def test_an_adopter_that_is_voided_itself_leaves_the_answer_to_the_next() -> None:
    desk = Desk()
    source = thrown_away(desk)
    desk.draft(READ)
    adopter = desk.intent("read")
    desk.rule(desk.state.branches["main"].drafted_end, 0, own="No: ")
    assert desk.state.intents[adopter.intent_id].state is IntentState.VOIDED
    desk.accept(READ)
    assert desk.intent("read").adopted_from == source.intent_id
    assert starts(desk) == 1


def test_an_adopter_voided_in_flight_does_not_come_back_with_the_outcome() -> None:
    desk = Desk()
    source = thrown_away(desk, answered=False)
    desk.draft(READ)
    adopter = desk.intent("read")
    desk.rule(desk.state.branches["main"].drafted_end, 0, own="No: ")
    desk.settle(source, 1)
    adopter = desk.state.intents[adopter.intent_id]
    assert (adopter.state, adopter.result_status, adopter.final) == (IntentState.VOIDED, None, False)


def test_takeover_voids_and_the_next_writer_adopts() -> None:
    desk = Desk()
    desk.draft(READ)
    desk.claim(desk.intent("read"))
    desk.settle(desk.intent("read"), 1)
    source = desk.intent("read")
    desk.open()
    desk.draft(READ)
    assert desk.intent("read").adopted_from == source.intent_id


def test_after_an_abort_nothing_is_adopted_and_what_was_adopted_before_runs_to_its_outcome() -> None:
    desk = Desk()
    source = thrown_away(desk, answered=False)
    desk.accept(READ)
    desk.draft("and " + spell("read", name="b"))
    desk.finish("error")
    read = next(i for i in desk.state.intents.values() if i.adopted_from is not None)
    assert read.state is IntentState.DISPATCHED
    desk.settle(source, 3)
    assert desk.state.intents[read.intent_id].final
    aborted = Desk()
    source = thrown_away(aborted, answered=False)
    aborted.accept(READ)
    aborted.finish("cancelled")
    aborted.unavailable(source)
    read = aborted.intent("read")
    assert (read.state, read.reason) == (IntentState.VOIDED, "stream_aborted")


def test_an_answer_that_is_redacted_is_neither_adopted_nor_made_final() -> None:
    desk = Desk()
    source = thrown_away(desk)
    desk.draft(READ)
    adopter = desk.intent("read")
    assert adopter.adopted_from == source.intent_id
    redact(desk, source)
    assert desk.state.intents[adopter.intent_id].result_content is None
    desk.rule_all()
    assert desk.state.intents[adopter.intent_id].state is IntentState.RELEASED
    other = Desk()
    redact(other, thrown_away(other))
    other.accept(READ)
    assert other.intent("read").state is IntentState.RELEASED


def redact(desk: Desk, intent: Intent) -> None:
    seqs = [
        seq
        for seq, event in enumerate(desk.log, start=1)
        if event.intent_id == intent.intent_id and event.type is not EventType.INTENT_VOIDED
    ]
    body = {
        "seqs": seqs,
        "intents": [intent.intent_id],
        "remains": {str(intent.held_seq): {"tool": intent.tool}},
    }
    event = Event(desk.state.seq + 1, desk.now, EventType.PAYLOAD_REDACTED, body, "main", intent.intent_id)
    desk.state = fold(desk.state, event)


def test_refolding_the_events_of_adoptions_gives_the_same_state_and_rows() -> None:
    desk = Desk(table(reads="send"))
    source = thrown_away(desk, answered=False)
    desk.accept(READ)
    desk.settle(source, {"n": 1.5})
    desk.draft(READ + spell("delete", name="a"))
    desk.rule_all()
    desk.finish()
    state = initial("t", "k")
    for seq, new in enumerate(desk.log, start=1):
        state = fold(
            state, Event(seq, desk.now, new.type, new.payload, new.branch, new.intent_id, new.attempt)
        )
    mine, again = rows(initial("t", "k"), desk.state), rows(initial("t", "k"), state)
    assert mine.intents == again.intents
    assert any(i.adopted_from for i in state.intents.values())


@pytest.mark.parametrize("forgets", ["freshness", "unavailable", "version"])
def test_a_careless_adoption_is_found_out(forgets: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases above, against adoption that leaves one condition out."""
    case = {
        "freshness": test_freshness_counts_from_the_original_dispatch,
        "unavailable": test_an_unavailable_answer_is_not_adopted,
        "version": test_an_answer_under_another_version_of_the_table_is_not_adopted,
    }[forgets]
    honest = adopting.adoptable

    def careless(standing: Standing, force: TableInForce, case: Case, now: datetime) -> Intent | None:
        for source in standing.equal_reads(case) if case.intent.state is IntentState.HELD else ():
            if source.state is IntentState.VOIDED and source.dispatch_seq is not None:
                return source
        return honest(standing, force, case, now)

    monkeypatch.setattr("gateway.turn.advance.adoptable", careless)
    with pytest.raises(AssertionError):
        case()


def test_result_statuses_that_are_adopted() -> None:
    """A tool's own refusal is an answer."""
    desk = Desk()
    source = thrown_away(desk)
    kept = {**desk.state.intents, source.intent_id: replace(source, result_status=ResultStatus.TOOL_ERROR)}
    desk.state = replace(desk.state, intents=kept)
    desk.accept(READ)
    assert desk.intent("read").result_status is ResultStatus.TOOL_ERROR
