"""The timeline of a turn: every event as one line, whatever a model or a tool wrote into it."""

import json
from datetime import UTC, datetime

import pytest

from ledger.events import Event, EventType
from ledger.timeline import _TELLERS, LONGEST, timeline
from tests.gateway.turn.desk import Desk, spell, table

AT = datetime(2026, 1, 1, tzinfo=UTC)


def events_of(desk: Desk) -> list[Event]:
    return [
        Event(seq, AT, e.type, e.payload, e.branch, e.intent_id, e.attempt, e.head_after, e.cut_at)
        for seq, e in enumerate(desk.log, 1)
    ]


def texts(events: list[Event]) -> list[str]:
    return [line.text for line in timeline(events)]


def one(type_: EventType, **payload: object) -> str:
    return texts([Event(1, AT, type_, payload, "main", "int_1", 1)])[0]


EXPECTED = [
    "opened: hermes calls detected, binding single, branches main",
    r'drafted 4 tokens [0, 4) round 0: "<tool_call>{\"name\": \"delete\", '
    r'\"arguments\": {\"name\": \"a\"}}</tool_call><tool_call…"',
    'held WRITE delete {"name": "a"} span [0, 2)',
    'held READ_ONLY read {"name": "a"} span [1, 4)',
    "released read as READ_ONLY early, on drafts",
    "dispatched read attempt 1 by w",
    'read attempt 1 settled ok: {"n":1}',
    'ruled [0, 4): 3 accepted, cut at 3, own token "!"',
    "block [1, 4) of round 0 voided: token_rejected",
    "voided read: token_rejected",
    "block [0, 2) of round 0 cleared",
    "released delete as WRITE on accepted tokens",
    r'drafted 2 tokens [4, 6) round 1: "<tool_call>{\"name\": \"create\", '
    r'\"arguments\": {\"name\": \"b\"}}</tool_call>"',
    "ruled [4, 6): 2 accepted",
    "dispatched delete attempt 1 by w",
    "delete attempt 1 in doubt: lease_expired",
    'delete resolved as happened_unknown_result by p: "seen"',
    "delete is final, with the answer of attempt 1",
    "finished: stop",
    "block [1, 6) of round 1 voided: stream_ended_inside",
]


def test_a_turn_is_told_in_order():
    desk = Desk(table(reads="send"), size=40)
    end = desk.draft(spell("delete", name="a") + spell("read", name="a"))
    desk.claim(desk.intent("read"))
    desk.settle(desk.intent("read"), {"n": 1})
    desk.rule(end, end - 1, own="!")
    desk.draft(spell("create", name="b"))
    desk.rule_all()
    desk.claim(desk.intent("delete"))
    desk.lose(desk.intent("delete"))
    desk.resolve(desk.intent("delete"), happened=True)
    desk.finish()
    assert texts(events_of(desk)) == EXPECTED


def test_lines_carry_what_they_hang_on():
    desk = Desk(size=40)
    desk.draft(spell("read", name="a"))
    lines = timeline(events_of(desk))
    assert [(line.seq, line.kind) for line in lines] == [
        (1, "stream"),
        (2, "tokens"),
        (3, "intent"),
        (4, "intent"),
    ]
    assert json.loads(json.dumps(lines[2].to_json())) == {
        "seq": 3,
        "at": "2026-01-01T00:00:00+00:00",
        "type": "intent.held",
        "kind": "intent",
        "branch": "main",
        "intent_id": desk.intent("read").intent_id,
        "text": 'held READ_ONLY read {"name": "a"} span [0, 2)',
    }


def test_every_kind_of_event_has_its_line():
    assert set(_TELLERS) == set(EventType)
    for type_ in EventType:
        assert one(type_, odd=True)


@pytest.mark.parametrize("type_", list(EventType))
def test_a_redacted_event_says_so(type_):
    assert one(type_) == f"{type_.value} (redacted)"


def test_accepted_tokens_stand_in_their_place():
    desk = Desk(size=4)
    desk.accept("eight...")
    desk.accept("four")
    assert texts(events_of(desk))[1:] == [
        'accepted 2 tokens [0, 2): "eight..."',
        'accepted 1 token [2, 3): "four"',
    ]


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x9b31m", "\r\n", "\u202e", "\u2028", "\ud800", "\x00"])
def test_no_control_character_of_a_model_or_tool_reaches_a_line(hostile):
    told = [
        one(EventType.TOKENS_DRAFTED, tokens=[{"text": hostile, "drafter": hostile}], start=0, round=0),
        one(EventType.TOKENS_RULED, start=0, end=0, accepted=0, token={"text": hostile}),
        one(EventType.INTENT_HELD, tool=hostile, arguments_raw=f"{{{hostile}}}", effect="WRITE", span=[0, 1]),
        one(EventType.DISPATCH_SETTLED, status="ok", attempt=1, content={"k": hostile}),
        one(EventType.DISPATCH_RESOLVED, status="ok", by=hostile, reason=hostile),
        one(EventType.INTENT_CALL_ID, call_id=hostile),
    ]
    assert all(text.isprintable() for text in told)


def test_long_texts_are_cut():
    assert (
        len(one(EventType.TOKENS_RULED, start=0, end=0, accepted=0, token={"text": "x" * 9999}))
        < LONGEST + 60
    )
