"""The judge says what is wrong, fault by fault; and nothing where nothing is."""

from pathlib import Path
from typing import Any

import pytest

from effects.table import EffectTable
from gateway.turn.tables import TableInForce
from ledger.events import Event
from ledger.state import Intent
from tests.crash import judge as verdicts
from tests.crash.judge import Asked, judge
from tests.crash.upstreams import effect_table
from tests.gateway.turn.desk import Desk, spell

KEY = "k"
CALLS = (Asked("write", "a", 0), Asked("put", "a", 1), Asked("read", "a", 2))


class Story:
    """One stream that went well: its events and the tool's log, for a test to spoil."""

    def __init__(self, calls: tuple[Asked, ...] = CALLS) -> None:
        table = EffectTable.parse(effect_table("http", "http://127.0.0.1:9", Path()))
        self.calls = calls
        self.desk = Desk(TableInForce(1, table), size=1000)
        self.log: list[dict[str, Any]] = []
        self.count = 0

    def accept(self) -> None:
        for call in self.calls:
            self.desk.accept(spell(call.tool, key=call.key, nth=call.nth))
        self.desk.finish()

    def send(self, tool: str, *, claim: bool = True) -> Intent:
        intent = self.desk.intent(tool)
        if claim:
            assert self.desk.claim(intent) is not None
        return self.act(intent)

    def act(self, intent: Intent, idempotency_key: str | None = None, replayed: bool = False) -> Intent:
        intent = self.desk.state.intents[intent.intent_id]
        self.count += intent.tool != "read" and not replayed
        nth = next(call.nth for call in self.calls if call.tool == intent.tool)
        self.log.append(
            {
                "line": "acted",
                "intent_id": intent.intent_id,
                "commit_key": KEY,
                "tool": intent.tool,
                "key": "a",
                "nth": nth,
                "idempotency_key": idempotency_key or intent.idempotency_key,
                "count": self.count,
                "replayed": replayed,
            }
        )
        return intent

    def answer(self, intent: Intent) -> None:
        self.desk.settle(intent, {"count": self.count})

    def well(self) -> "Story":
        self.accept()
        for call in self.calls:
            self.answer(self.send(call.tool))
        return self

    def faults(self, *, asked: tuple[Asked, ...] | None = None, resolved: bool = False) -> set[str]:
        events = [Event(seq, self.desk.now, *new) for seq, new in enumerate(self.desk.log, 1)]
        calls = self.calls if asked is None else asked
        return set(judge({KEY: calls}, {KEY: events}, self.log, resolved=resolved).faults)


def test_what_went_well_has_no_fault() -> None:
    assert Story().well().faults(resolved=True) == set()


def test_a_second_act_of_a_write() -> None:
    story = Story().well()
    story.act(story.desk.intent("write"))
    assert verdicts.WRITE_TWICE in story.faults()


def test_another_key_of_an_idempotent_call() -> None:
    story = Story().well()
    story.act(story.desk.intent("put"), idempotency_key="another", replayed=True)
    assert story.faults() == {verdicts.KEYS_DIFFER}


def test_an_idempotent_call_done_twice() -> None:
    story = Story().well()
    story.act(story.desk.intent("put"))
    assert verdicts.PUT_TWICE in story.faults()


@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        (CALLS[:1], verdicts.WRITE_LOST),
        (CALLS[1:2], verdicts.PUT_LOST),
        (CALLS[2:], verdicts.READ_NOT_FINAL),
    ],
)
def test_a_cleared_call_that_nobody_sends(calls: tuple[Asked, ...], fault: str) -> None:
    story = Story(calls)
    story.accept()
    assert story.faults() == {fault}


def test_an_accepted_call_that_is_no_intent() -> None:
    assert verdicts.WRITE_LOST in Story().well().faults(asked=(*CALLS, Asked("write", "a", 3)))


def test_a_doubt_is_no_loss_and_keeps_others_waiting() -> None:
    story = Story()
    story.accept()
    story.desk.lose(story.send("write"))
    assert story.faults() == set()
    assert verdicts.NOT_OVER in story.faults(resolved=True)


@pytest.mark.parametrize("happened", [True, False])
def test_a_resolution_that_is_not_true(happened: bool) -> None:
    story = Story(CALLS[:1])
    story.accept()
    intent = story.desk.intent("write")
    assert story.desk.claim(intent) is not None
    if not happened:
        story.act(intent)
    story.desk.lose(intent)
    story.desk.resolve(intent, happened=happened)
    assert story.faults(resolved=True) == {verdicts.CONTRADICTED}


def test_an_act_without_a_record_or_acceptance() -> None:
    story = Story(CALLS[:1])
    story.desk.draft(spell("write", key="a", nth=0))
    story.act(story.desk.intent("write"))
    assert {verdicts.UNRECORDED, verdicts.UNACCEPTED} <= story.faults()


def test_an_act_of_an_unknown_intent() -> None:
    story = Story().well()
    story.log.append({**story.log[0], "intent_id": "int_unknown", "idempotency_key": "other"})
    assert verdicts.UNRECORDED in story.faults()


def test_effects_out_of_order() -> None:
    story = Story().well()
    story.log[0], story.log[1] = story.log[1], story.log[0]
    assert verdicts.OUT_OF_ORDER in story.faults()


def test_a_stale_answer() -> None:
    story = Story()
    story.accept()
    for tool in ("write", "put"):
        story.answer(story.send(tool))
    story.desk.settle(story.send("read"), {"count": 1})
    assert story.faults() == {verdicts.STALE}
