"""Negative controls: a fold that is wrong in one place, and a generator that is blind, are found out."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from effects.intent import IntentState
from ledger import fold, lane
from ledger.events import Event, EventType
from ledger.state import Branch, Intent, StreamState
from tests.ledger.model import core
from tests.ledger.model.core import Core
from tests.ledger.model.lanes import Lane
from tests.ledger.model.machine import Histories
from tests.ledger.model.running import FIRST_SEED, NAMED, missing, play

Body = Mapping[str, Any]
Handle = Callable[[StreamState, Event, Body], StreamState]
Break = Callable[[pytest.MonkeyPatch], None]


def changed(
    type_: EventType, change: Callable[[StreamState, Event, Body, StreamState], StreamState]
) -> Break:
    """The handler of this type, followed by ``change(before, event, body, after)``."""

    def break_it(monkeypatch: pytest.MonkeyPatch) -> None:
        handle = fold._HANDLERS[type_]

        def broken(before: StreamState, event: Event, body: Body) -> StreamState:
            return change(before, event, body, handle(before, event, body))

        monkeypatch.setattr(fold, "_HANDLERS", {**fold._HANDLERS, type_: broken})

    return break_it


def of_branch(change: Callable[[Branch, Branch], Branch]) -> Callable[..., StreamState]:
    def apply(before: StreamState, event: Event, _body: Body, after: StreamState) -> StreamState:
        name = str(event.branch)
        made = change(before.branches[name], after.branches[name])
        return replace(after, branches=MappingProxyType({**after.branches, name: made}))

    return apply


def of_intent(change: Callable[[Intent, Intent], Intent]) -> Callable[..., StreamState]:
    def apply(before: StreamState, _event: Event, body: Body, after: StreamState) -> StreamState:
        name = body["intent_id"]
        made = change(before.intents[name], after.intents[name])
        return replace(after, intents=MappingProxyType({**after.intents, name: made}))

    return apply


def settles_after_a_resolution(before: Intent, after: Intent) -> Intent:
    return replace(after, state=IntentState.SETTLED, settled_seq=1) if before.resolved else after


def ruled_by_text_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane.SpelledToken, "equals", lambda self, token: self.text == token.text)


BROKEN = {
    "the round does not go on": changed(
        EventType.TOKENS_RULED, of_branch(lambda before, after: replace(after, round=before.round))
    ),
    "a cut leaves the drafts behind it": changed(
        EventType.TOKENS_RULED,
        of_branch(
            lambda before, after: (
                after if after.round == before.round else replace(after, pending=before.pending)
            )
        ),
    ),
    "a takeover keeps the drafts": changed(
        EventType.DRAFTS_VOIDED, of_branch(lambda before, after: replace(after, pending=before.pending))
    ),
    "own tokens are compared by text": ruled_by_text_alone,
    "the writer that took over keeps the old epoch": changed(
        EventType.STREAM_TAKEN_OVER,
        lambda before, _event, _body, after: replace(after, writer_epoch=before.writer_epoch),
    ),
    "a late outcome counts after a resolution": changed(
        EventType.DISPATCH_LATE, of_intent(settles_after_a_resolution)
    ),
    "a late outcome never counts": changed(EventType.DISPATCH_LATE, of_intent(lambda before, _after: before)),
    "an answer of a voided read brings it back": changed(
        EventType.DISPATCH_SETTLED,
        of_intent(lambda _before, after: replace(after, state=IntentState.SETTLED)),
    ),
    "a loss leaves the attempt open": changed(
        EventType.DISPATCH_EXPIRED,
        of_intent(lambda before, after: replace(after, open_attempt=before.open_attempt)),
    ),
    "staleness outlives the next release": changed(
        EventType.INTENT_RELEASED, of_intent(lambda before, after: replace(after, stale=before.stale))
    ),
    "a release forgets the call's key": changed(
        EventType.INTENT_RELEASED, of_intent(lambda _before, after: replace(after, idempotency_key=None))
    ),
    "a word is never spent": changed(
        EventType.DISPATCH_STARTED, of_intent(lambda before, after: replace(after, approval=before.approval))
    ),
    "what was asked again is allowed by the word before": changed(
        EventType.INTENT_AWAITING_APPROVAL,
        of_intent(lambda before, after: replace(after, approval=before.approval)),
    ),
    "a person's word ends the asking": changed(
        EventType.INTENT_APPROVED, of_intent(lambda _before, after: replace(after, asked_because=None))
    ),
    "a denial leaves the call waiting": changed(
        EventType.INTENT_DENIED, of_intent(lambda before, _after: before)
    ),
    "a silent end is no end": changed(
        EventType.STREAM_FINISHED, lambda _before, _event, _body, after: replace(after, finished=None)
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fold_that_is_wrong_in_one_place_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BROKEN[fault](monkeypatch)
    with pytest.raises((AssertionError, KeyError, IndexError)):
        play(Core, Counter(), seed=FIRST_SEED, histories=1200, steps=12, shrink=False)


def test_a_state_that_is_not_what_the_stored_events_amount_to_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = core.as_stored

    def without_own_token(event: Event) -> Event:
        kept = {name: value for name, value in event.payload.items() if name != "token"}
        about = (event.branch, event.intent_id, event.attempt)
        return stored(Event(event.seq, event.at, event.type, kept, *about))

    monkeypatch.setattr(core, "as_stored", without_own_token)
    with pytest.raises(AssertionError, match="folded again it is another state"):
        play(Core, Counter(), seed=FIRST_SEED, histories=100, steps=12, shrink=False)


def test_a_generator_that_never_rejects_a_draft_is_found_to_be_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    class Yielding(Histories):
        def _judge(self, dice: Any, name: str, lane: Lane) -> None:
            self._accept_drafts(dice, name, lane)

    seen: Counter[str] = Counter()
    play(Core, seen, seed=FIRST_SEED, histories=150, steps=12, machine=Yielding)
    assert "a cut with an own token" in missing(seen, NAMED)
