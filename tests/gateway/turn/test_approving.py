"""Calls that wait for a person: when they are asked for, what a word is worth, and how it ends."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from effects.intent import IntentState
from effects.table import EffectTable
from gateway.errors import ApprovalOfOtherArguments, NotAwaitingApproval
from gateway.turn import approving
from gateway.turn.advance import advance
from gateway.turn.standing import Standing
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.state import Intent
from tests.gateway.turn.desk import Desk, spell

TOOLS = """
policy: {write_order: footprint}
tools:
  pay: {effect: WRITE, writes: ["purse:{name}"], approval: "amount > 100", approval_expires: 10m, upstream: {http: "http://127.0.0.1:9/pay"}}
  fire: {effect: WRITE, writes: ["staff:{name}"], approval: required, upstream: {http: "http://127.0.0.1:9/fire"}}
  note: {effect: WRITE, writes: ["note:{name}"], upstream: {http: "http://127.0.0.1:9/note"}}
  peek: {effect: READ_ONLY, reads: ["safe:{name}"], approval: required, upstream: {http: "http://127.0.0.1:9/peek"}}
  put: {effect: IDEMPOTENT, window: 1h, writes: ["thing:{name}"], approval: required, upstream: {http: "http://127.0.0.1:9/put"}}
"""
ODD = """  odd: {effect: %s, upstream: {http: "http://127.0.0.1:9/odd"}}"""
READ_OTHER, WRITE_SAME = 'READ_ONLY, reads: ["other:{name}"]', 'WRITE, writes: ["safe:{name}"]'


def table(text: str = TOOLS, version: int = 1) -> TableInForce:
    return TableInForce(version, EffectTable.parse(text))


class Office(Desk):
    """A desk with a person at it."""

    def __init__(self, force: TableInForce | None = None) -> None:
        super().__init__(force or table())

    def say(self, word: Callable[[Unfolding], None]) -> None:
        unfolding = Unfolding(self.state, self.now)
        word(unfolding)
        advance(unfolding, self.force)
        self._take(unfolding)

    def approve(self, intent: Intent, digest: str | None = None) -> None:
        now = self.now_of(intent)
        seen = None if now.asked is None else now.asked.definition
        about = {"arguments_digest": digest, "definition": seen}
        self.say(
            lambda unfolding: approving.approve(unfolding, self.force, now, by="ann", note="fine", **about)
        )

    def deny(self, intent: Intent) -> None:
        self.say(lambda unfolding: approving.deny(unfolding, self.now_of(intent), by="bob", reason="no"))

    def now_of(self, intent: Intent) -> Intent:
        return self.state.intents[intent.intent_id]

    def asked(self, tool: str, **arguments: object) -> Intent:
        self.accept(spell(tool, **arguments))
        return self.intent(tool)


def test_approval_is_asked_for_at_clearing_and_never_before() -> None:
    office = Office()
    end = office.draft(spell("fire", name="x"))
    assert office.intent("fire").state is IntentState.HELD
    office.rule(end, end)
    fire = office.intent("fire")
    assert (fire.state, fire.reason) == (IntentState.AWAITING_APPROVAL, "required")
    assert office.types(fire) == ["intent.held", "intent.awaiting_approval"]
    assert office.claim(fire) is None
    asked = next(e.payload for e in office.log if e.type == "intent.awaiting_approval")
    assert asked == {
        "intent_id": fire.intent_id,
        "because": "required",
        "arguments_digest": fire.arguments_digest,
        "effect": "WRITE",
        "effect_version": 1,
        "footprint": {"reads": [], "writes": ["staff:x"], "upstream": "http://127.0.0.1:9"},
        "upstream": {"http": "http://127.0.0.1:9/fire"},
        "definition": office.force.table.definition("fire"),
    }
    office.approve(fire)
    assert office.now_of(fire).state is IntentState.RELEASED
    sent = office.claim(fire)
    assert sent is not None
    assert sent.arguments_raw == fire.arguments_raw


def test_a_rejected_call_is_never_asked_for() -> None:
    office = Office()
    end = office.draft(spell("fire", name="x"))
    office.rule(end, end - 1)
    assert office.types(office.intent("fire")) == ["intent.held", "intent.voided"]


@pytest.mark.parametrize(
    ("amount", "because"),
    [(100, None), (101, "condition"), ("a lot", "condition"), (None, "condition")],
    ids=["plainly no", "yes", "undecidable", "missing"],
)
def test_only_a_plain_no_of_the_condition_lets_a_call_pass(amount: object, because: str | None) -> None:
    office = Office()
    given = {} if amount is None else {"amount": amount}
    pay = office.asked("pay", name="x", **given)
    expected = IntentState.RELEASED if because is None else IntentState.AWAITING_APPROVAL
    assert (pay.state, pay.reason) == (expected, because)


def test_a_condition_knows_the_time() -> None:
    late = table(TOOLS.replace("amount > 100", "now.getHours() >= 18"))
    day, night = Office(late), Office(late)
    day.now, night.now = day.now.replace(hour=9), night.now.replace(hour=20)
    assert day.asked("pay", name="x").state is IntentState.RELEASED
    assert night.asked("pay", name="x").state is IntentState.AWAITING_APPROVAL
    # Released by day and not claimed until night: asked for all the same, and then for good.
    day.now = day.now.replace(hour=20)
    assert day.claim(day.intent("pay")) is None
    day.now += timedelta(hours=13)
    assert day.claim(day.intent("pay")) is None
    assert day.intent("pay").state is IntentState.AWAITING_APPROVAL


# --- agent-framework #6851: an approved tool runs again on a later turn


def test_an_approval_replayed_is_refused() -> None:
    office = Office()
    fire = office.asked("fire", name="x")
    office.approve(fire)
    with pytest.raises(NotAwaitingApproval):
        office.approve(fire)
    office.claim(fire)
    office.settle(fire)
    for word in (office.approve, office.deny):
        with pytest.raises(NotAwaitingApproval):
            word(fire)
    assert office.types(fire).count("dispatch.started") == 1


def test_what_a_spent_approval_was_given_for_is_not_sent_a_second_time() -> None:
    """A table that makes an earlier call a WRITE to what was read overtakes the answer: to ask again takes another word."""
    office = Office(table(TOOLS + ODD % READ_OTHER))
    earlier, peek = office.asked("odd", name="x"), office.asked("peek", name="x")
    office.approve(peek)
    assert office.claim(peek) is not None
    office.force = table(TOOLS + ODD % WRITE_SAME, version=2)
    assert office.claim(earlier) is not None
    office.settle(earlier)
    office.settle(peek)
    stale = office.now_of(peek)
    assert (stale.state, stale.stale, stale.approval) == (IntentState.AWAITING_APPROVAL, True, None)
    assert office.claim(peek) is None
    office.approve(peek)
    assert office.claim(peek) is not None
    office.settle(peek)
    assert office.now_of(peek).final


def test_the_same_call_again_needs_an_approval_of_its_own() -> None:
    office = Office()
    office.approve(office.asked("fire", name="x"))
    again = office.asked("fire", name="x")
    assert again.state is IntentState.AWAITING_APPROVAL
    assert again.intent_id != office.intent("fire", 0).intent_id


def test_an_approval_does_not_go_over_to_changed_arguments_at_the_same_place() -> None:
    office = Office()
    first = office.asked("fire", name="x")
    office.draft(spell("fire", name="ann"))
    ann = office.intent("fire")
    main = office.state.branches["main"]
    office.rule(
        main.drafted_end, main.drafted_end - main.head - 1, own=">"
    )  # re-draft: the same text, round 1
    office.accept(spell("fire", name="bob"))
    bob = office.intent("fire")
    assert ann.arguments_digest != bob.arguments_digest
    with pytest.raises(NotAwaitingApproval):
        office.approve(ann)
    with pytest.raises(ApprovalOfOtherArguments) as refused:
        office.approve(bob, digest=ann.arguments_digest)
    assert refused.value.extra == {"arguments_digest": bob.arguments_digest}
    assert office.now_of(bob).state is IntentState.AWAITING_APPROVAL
    office.approve(bob, digest=bob.arguments_digest)
    assert office.now_of(bob).state is IntentState.RELEASED
    assert office.now_of(first).state is IntentState.AWAITING_APPROVAL


def test_a_denied_call_is_over_and_lets_later_ones_go() -> None:
    office = Office(table(TOOLS.replace("write_order: footprint", "write_order: strict")))
    fire, note = office.asked("fire", name="x"), office.asked("note", name="x")
    assert office.now_of(note).state is IntentState.HELD
    office.deny(fire)
    denied = office.now_of(fire)
    assert (denied.state, denied.reason, denied.terminal) == (IntentState.DENIED, "no", True)
    assert office.now_of(note).state is IntentState.RELEASED
    with pytest.raises(NotAwaitingApproval):
        office.approve(fire)


# --- LibreChat-AI/agents PR #294, langgraph PR #3126: siblings run again when one call waited for a person


def test_one_call_waits_for_a_person_while_its_sibling_is_sent_once() -> None:
    office = Office()
    fire, note = office.asked("fire", name="x"), office.asked("note", name="x")
    assert office.claim(note) is not None
    office.settle(note)
    office.approve(fire)
    assert office.claim(fire) is not None
    office.settle(fire)
    assert all(office.types(one).count("dispatch.started") == 1 for one in (fire, note))
    assert all(office.now_of(one).final for one in (fire, note))


def test_an_approval_expires_and_is_asked_for_again() -> None:
    office = Office()
    pay = office.asked("pay", name="x", amount=1000)
    office.approve(pay)
    office.now += timedelta(minutes=10)
    assert office.claim(pay) is None
    expired = office.now_of(pay)
    assert (expired.state, expired.approval) == (IntentState.AWAITING_APPROVAL, None)
    office.approve(pay)
    office.now += timedelta(minutes=9)
    assert office.claim(pay) is not None


def test_an_approved_call_that_waits_for_its_turn_goes_back_when_its_approval_expires() -> None:
    office = Office(table(TOOLS.replace("write_order: footprint", "write_order: strict")))
    first, second = office.asked("fire", name="x"), office.asked("pay", name="x", amount=1000)
    office.approve(second)
    assert office.now_of(second).state is IntentState.HELD
    office.wait(601)
    assert office.now_of(second).state is IntentState.AWAITING_APPROVAL
    office.deny(first)
    assert office.now_of(second).state is IntentState.AWAITING_APPROVAL


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_an_approval_after_the_stream_has_ended_in_good_order_still_counts(reason: str) -> None:
    office = Office()
    fire = office.asked("fire", name="x")
    office.finish(reason)
    assert office.now_of(fire).state is IntentState.AWAITING_APPROVAL
    office.approve(fire)
    assert office.claim(fire) is not None


@pytest.mark.parametrize("reason", ["error", "cancelled"])
def test_what_awaits_approval_is_voided_when_the_stream_is_broken_off(reason: str) -> None:
    office = Office()
    fire = office.asked("fire", name="x")
    office.finish(reason)
    assert (office.now_of(fire).state, office.now_of(fire).reason) == (IntentState.VOIDED, "stream_aborted")
    with pytest.raises(NotAwaitingApproval):
        office.approve(fire)


def test_a_table_that_asks_later_counts_for_what_is_not_dispatched() -> None:
    office = Office()
    note, other = office.asked("note", name="x"), office.asked("note", name="y")
    assert office.claim(note) is not None
    asking = TOOLS.replace('["note:{name}"],', '["note:{name}"], approval: required,')
    office.force = table(asking, version=2)
    assert office.claim(other) is None
    assert office.now_of(other).state is IntentState.AWAITING_APPROVAL
    office.settle(note)
    assert office.now_of(note).final


def test_a_table_that_asks_no_more_does_not_free_what_was_asked_under_the_old_one() -> None:
    office = Office()
    asked, end = office.asked("fire", name="x"), office.draft(spell("fire", name="y"))
    office.force = table(TOOLS.replace("approval: required, ", ""), version=2)
    office.rule(end, end - office.state.branches["main"].head)
    drafted = office.intent("fire")
    assert drafted.intent_id != asked.intent_id
    assert {office.now_of(one).state for one in (asked, drafted)} == {IntentState.AWAITING_APPROVAL}
    assert office.asked("fire", name="z").state is IntentState.RELEASED


def test_a_read_that_needs_approval_is_not_sent_early() -> None:
    office = Office()
    end = office.draft(spell("peek", name="x"))
    peek = office.intent("peek")
    assert peek.state is IntentState.HELD
    office.rule(end, end)
    assert office.now_of(peek).state is IntentState.AWAITING_APPROVAL
    office.approve(peek)
    assert office.claim(peek) is not None


def test_a_read_whose_outcome_was_lost_is_sent_again_under_the_same_approval() -> None:
    office = Office()
    peek = office.asked("peek", name="x")
    office.approve(peek)
    for _ in range(3):
        assert office.claim(peek) is not None
        office.now += timedelta(hours=2)
        office.lose(peek)
    assert office.now_of(peek).state is IntentState.RELEASED


# --- agent-framework #7458: the approval is consumed, and the dispatch is lost


def test_a_write_whose_dispatcher_died_after_the_claim_is_in_doubt_and_is_never_asked_for_again() -> None:
    office = Office()
    fire = office.asked("fire", name="x")
    office.approve(fire)
    assert office.claim(fire) is not None
    office.lose(fire)
    assert office.now_of(fire).state is IntentState.IN_DOUBT
    office.wait(7200)
    with pytest.raises(NotAwaitingApproval):
        office.approve(fire)
    assert office.types(fire).count("intent.awaiting_approval") == 1


def test_an_idempotent_call_that_may_have_happened_is_sent_again_with_its_key_and_no_second_approval() -> (
    None
):
    office = Office()
    put = office.asked("put", name="x")
    office.approve(put)
    first = office.claim(put)
    office.now += timedelta(minutes=50)
    office.lose(put)
    office.now += timedelta(minutes=5)
    second = office.claim(put)
    assert first is not None
    assert second is not None
    assert (first.idempotency_key, first.attempt, second.attempt) == (second.idempotency_key, 1, 2)
    office.lose(put)
    office.wait(600)
    assert office.claim(put) is None
    assert office.now_of(put).state is IntentState.IN_DOUBT


def test_whoever_asks_for_a_reason_of_his_own_asks_once() -> None:
    office = Office()
    end = office.draft(spell("note", name="x"))
    office.rule(end, end)
    note = office.intent("note")
    unfolding = Unfolding(office.state, office.now)

    approving.ask(
        unfolding, office.force, Standing(unfolding, office.force).case(note.intent_id), "fork_repeats"
    )
    advance(unfolding, office.force)
    office._take(unfolding)
    assert (office.now_of(note).state, office.now_of(note).reason) == (
        IntentState.AWAITING_APPROVAL,
        "fork_repeats",
    )
    office.approve(note)
    assert office.claim(note) is not None
