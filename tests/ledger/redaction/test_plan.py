"""Which intents and payloads a redaction takes: those that spell the call, and no neighbour's."""

from dataclasses import replace

import pytest

from effects.table import EffectTable
from gateway.turn import approving
from gateway.turn.advance import advance
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.events import Event, EventType
from ledger.fold import fold, initial
from ledger.redaction import plan as planning
from ledger.redaction import remains
from ledger.redaction.plan import concerned, plan
from ledger.redaction.recording import redactable
from ledger.state import Intent, StreamState
from tests.gateway.turn.desk import Desk, spell
from tests.ledger.redaction.test_state import folded, gone, log_of, recorded


def everything(state: StreamState, events: list[Event], intent_id: str) -> tuple[StreamState, list[Event]]:
    """Both steps: the state that goes on, and the events that are left."""
    made = plan(state, events, redactable(state, intent_id), lambda _name: True)
    event = recorded(state.seq + 1, made.event(by="p", reason="r"), state.opened_at)
    return fold(state, event), [*gone(events, made), event]


def only(desk: Desk, tool: str) -> Intent:
    return next(i for i in desk.state.intents.values() if i.tool == tool)


def finished(desk: Desk) -> list[Event]:
    for intent in list(desk.state.intents.values()):
        if intent.state == "released":
            desk.claim(intent)
            desk.settle(intent, {"said": "x"})
    desk.finish()
    events = log_of(desk)
    desk.state = replace(folded(events), tenant=desk.state.tenant)
    return events


def intent(
    start: int, end: int, *, round_: int = 0, ordinal: int = 0, block: str = "cleared", branch="main"
) -> Intent:
    desk = Desk()
    desk.draft(spell("read", name="x"))
    [made] = desk.state.intents.values()
    named = f"i{start}-{end}-{round_}-{ordinal}-{branch}"
    kept = {"start": start, "end": end, "round": round_, "ordinal": ordinal, "branch": branch}
    return replace(made, intent_id=named, block=type(made.block)(block), **kept)


@pytest.mark.parametrize(
    ("meant", "other", "goes"),
    [
        (intent(10, 20), intent(10, 20, round_=1, block="voided"), True),
        (intent(10, 20), intent(5, 12, round_=1, block="voided"), True),
        (intent(10, 20), intent(19, 30, round_=1, block="voided"), True),
        (intent(10, 20), intent(20, 30, round_=1, block="voided"), False),
        (intent(10, 20), intent(10, 20, round_=1, block="voided", branch="left"), False),
        # Calls of one block, and accepted neighbours.
        (intent(10, 20), intent(10, 20, ordinal=1), False),
        (intent(10, 20), intent(19, 30), False),
        (intent(10, 20), intent(5, 11), False),
        (intent(10, 20, round_=1), intent(5, 11), False),
        # A voided one was drafted again, and what took its place says the same.
        (intent(10, 20, block="voided"), intent(10, 22, round_=1), True),
        (intent(10, 20, block="voided"), intent(12, 22, round_=1), True),
        (intent(10, 20, block="voided"), intent(10, 11, round_=1), True),
        (intent(10, 20, block="voided"), intent(10, 20, ordinal=1, block="voided"), False),
        (intent(10, 20, block="voided"), intent(5, 11), False),
        (intent(10, 20, block="voided"), intent(19, 30, round_=1), False),
    ],
)
def test_what_was_drafted_in_its_place_goes_with_it(meant: Intent, other: Intent, goes: bool) -> None:
    state = replace(initial("t", "k"), intents={i.intent_id: i for i in (other, meant)})
    assert concerned(state, meant) == ((meant, other) if goes else (meant,))
    done = replace(other, redacted=True)
    state = replace(state, intents={i.intent_id: i for i in (done, meant)})
    assert concerned(state, meant) == (meant,)


def test_token_events_elsewhere_and_events_of_other_calls_stay() -> None:
    desk = Desk()
    for name in ("before", "meant", "after"):
        desk.draft(spell("create" if name == "meant" else "read", name=name))
        desk.rule_all()
        desk.draft("between ")
        desk.rule_all()
    events = finished(desk)
    meant = only(desk, "create")
    made = plan(desk.state, events, meant, lambda _name: True)
    types = [(e.type, e.intent_id) for e in events if e.seq in made.remains]
    assert types == [
        (EventType.TOKENS_DRAFTED, None),
        (EventType.INTENT_HELD, meant.intent_id),
        (EventType.TOKENS_RULED, None),
        (EventType.INTENT_RELEASED, meant.intent_id),
        (EventType.DISPATCH_SETTLED, meant.intent_id),
    ]
    spelled = [t.text for t in fold(desk.state, _event(desk.state, made)).branches["main"].accepted]
    assert "".join(spelled).count("between ") == 3


def _event(state: StreamState, made: planning.Plan) -> Event:
    return recorded(state.seq + 1, made.event(by="p", reason="r"), state.opened_at)


def compared(*, equal: bool) -> tuple[Desk, list[Event], Intent]:
    """The last draft of a call is not judged: the target's own token says the same, or something else."""
    desk = Desk()
    desk.draft("say ")
    desk.rule_all()
    text = spell("create", name="x")
    desk.draft("so: " + text + "more")
    main = desk.state.branches["main"]
    # Judged is one token before the call; the own token meets the first token of the call.
    desk.rule(main.head + 1, 1, own=text[:4] if equal else "else")
    if not equal:
        desk.draft(text)
    desk.rule_all()
    return desk, finished(desk), only(desk, "create")


@pytest.mark.parametrize("equal", [True, False])
def test_what_a_comparison_came_to_outlives_the_tokens(equal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, events, meant = compared(equal=equal)
    after, left = everything(desk.state, events, meant.intent_id)
    assert folded(left) == after

    def naive(body: remains.Body, _before: object) -> dict[str, object]:
        kept = {name: body[name] for name in ("round", "start", "end", "accepted")}
        return kept | ({"token": {"text": ""}} if "token" in body else {})

    monkeypatch.setattr(remains, "_of_ruling", naive)
    after, left = everything(desk.state, events, meant.intent_id)
    # The control: blank tokens are equal to one another, so only the rejection would be lost.
    assert (folded(left) == after) is equal


def test_a_ruling_before_the_call_goes_where_it_is_compared_with_what_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    text = spell("create", name="x")
    desk.draft("one two " + text)
    # Nothing of this ruling lies in the call, but the token that it meets came with it.
    desk.rule(1, 1, own="two ")
    desk.rule_all()
    events = finished(desk)
    meant = only(desk, "create")
    first = next(e for e in events if e.type is EventType.TOKENS_RULED)
    assert meant.start == 2
    assert first.seq in plan(desk.state, events, meant, lambda _name: True).remains
    after, left = everything(desk.state, events, meant.intent_id)
    assert folded(left) == after
    monkeypatch.setattr(planning, "compared_draft", lambda *_: None)
    after, left = everything(desk.state, events, meant.intent_id)
    with pytest.raises(Exception):  # noqa: B017, PT011 - the control: it cannot be folded, or comes to something else
        assert folded(left) == after


def adopting(*, in_flight: bool) -> tuple[Desk, list[Event]]:
    """A read that was drafted, sent and rejected, and the same read elsewhere, which took its answer."""
    desk = Desk()
    text = spell("read", name="x")
    desk.draft(text)
    first = only(desk, "read")
    desk.claim(first)
    if not in_flight:
        desk.settle(first, {"said": "x"})
    desk.rule(desk.state.branches["main"].drafted_end, 0, own="so ")
    desk.draft("then " * 40 + text)
    if in_flight:
        desk.settle(desk.state.intents[first.intent_id], {"said": "x"})
    desk.rule_all()
    return desk, finished(desk)


@pytest.mark.parametrize("in_flight", [True, False])
@pytest.mark.parametrize("meant", ["source", "adopter"])
def test_who_shares_an_answer_is_redacted_together(meant: str, in_flight: bool) -> None:
    desk, events = adopting(in_flight=in_flight)
    [adopter] = [i for i in desk.state.intents.values() if i.adopted_from is not None]
    assert adopter.adopted_from is not None
    about = adopter.intent_id if meant == "adopter" else adopter.adopted_from
    after, left = everything(desk.state, events, about)
    assert folded(left) == after
    assert all(i.redacted and i.result_content is None for i in after.intents.values())
    assert "'said'" not in str([e.payload for e in left])


def test_the_control_without_its_source_an_adopted_answer_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_origin", lambda intent: intent.intent_id)
    desk, events = adopting(in_flight=False)
    [adopter] = [i for i in desk.state.intents.values() if i.adopted_from is not None]
    _after, left = everything(desk.state, events, adopter.intent_id)
    assert "'said'" in str([e.payload for e in left])


ASKING = """
tools:
  create: {effect: WRITE, writes: [], approval: required, upstream: {http: "http://127.0.0.1:9/tools/create"}}
"""


@pytest.mark.parametrize("word", ["approve", "deny"])
def test_what_people_said_of_a_call_goes_with_it(word: str) -> None:
    desk = Desk(TableInForce(1, EffectTable.parse(ASKING)))
    desk.draft(spell("create", name="marked"))
    desk.rule_all()
    unfolding = Unfolding(desk.state, desk.now)
    intent = only(desk, "create")
    if word == "approve":
        approving.approve(unfolding, desk.force, intent, by="p", note="marked is fine")
    else:
        approving.deny(unfolding, intent, by="p", reason="not marked")
    advance(unfolding, desk.force)
    desk._take(unfolding)
    events = finished(desk)
    after, left = everything(desk.state, events, intent.intent_id)
    assert folded(left) == after
    assert "marked" not in str([e.payload for e in left]) + str(after)
