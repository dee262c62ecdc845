"""Over generated histories: blanking a state and folding what remains come to the same state and rows, without the texts."""

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random

from effects.intent import IntentState, ResultStatus
from ledger.errors import RedactionRefused
from ledger.events import Event, EventType, NewEvent
from ledger.fold import fold, initial
from ledger.projection import rows
from ledger.redaction.plan import Plan, plan
from ledger.redaction.recording import redactable
from ledger.state import StreamState
from tests.gateway.turn.desk import Desk
from tests.ledger.model.core import KEY, TENANT, Core, as_stored
from tests.ledger.model.running import FIRST_SEED, play

HISTORIES = 200
SEEN: Counter[str] = Counter()


def recorded(seq: int, new: NewEvent, at) -> Event:
    body = json.loads(json.dumps(new.payload))
    return Event(seq, at, new.type, body, new.branch, new.intent_id, new.attempt)


def folded(events: list[Event]) -> StreamState:
    state = initial(TENANT, KEY)
    for event in events:
        state = fold(state, event)
    return state


def gone(events: list[Event], made: Plan) -> list[Event]:
    """The events as they are read once the payloads are gone."""
    stored = {int(seq): body for seq, body in json.loads(json.dumps(dict(made.remains))).items()}
    return [e._replace(payload=stored[e.seq], redacted=True) if e.seq in stored else e for e in events]


def redacted(
    state: StreamState, events: list[Event], intent_id: str
) -> tuple[StreamState, list[Event], Plan]:
    """The state that goes on, and the events that are left."""
    meant = redactable(state, intent_id)
    made = plan(state, events, meant, lambda name: name in ("create", "delete", "put", "read", "search"))
    event = recorded(state.seq + 1, made.event(by="p", reason="asked for"), state.opened_at)
    return fold(state, event), [*gone(events, made), event], made


def check(state: StreamState, events: list[Event], seen: Counter[str], random: Random) -> None:
    """Redact intents one after the other, in any order; each time both ways come to the same."""
    for intent_id in random.sample(sorted(state.intents), len(state.intents)):
        try:
            done = redactable(state, intent_id).redacted
        except RedactionRefused as refused:
            seen[refused.code] += 1
            continue
        if done:
            seen["twin"] += 1
            continue
        after, left, made = redacted(state, events, intent_id)
        again = folded(left)
        assert again == after
        # The redaction and the payloads' going are two steps: in between, both are still there.
        assert folded([*events, left[-1]]) == after
        assert rows(initial(TENANT, KEY), again) == rows(initial(TENANT, KEY), after)
        assert {i.intent_id for i in after.intents.values() if i.redacted} == {
            i.intent_id for i in state.intents.values() if i.redacted
        } | {i.intent_id for i in made.intents}
        _unchanged(state, after)
        _blank(after, left, made)
        seen["redacted"] += 1
        seen["payloads"] += len(made.remains)
        seen["rulings"] += sum(e.type is EventType.TOKENS_RULED for e in left if e.seq in made.remains)
        state, events = after, left


def _unchanged(before: StreamState, after: StreamState) -> None:
    """Everything but texts is as it was."""
    for name, branch in before.branches.items():
        other = after.branches[name]
        assert [t[2:4] for t in branch.accepted] == [t[2:4] for t in other.accepted]
        assert [t[2:4] for t in branch.pending] == [t[2:4] for t in other.pending]
        assert branch.round == other.round
    kept = (
        "state",
        "release",
        "final",
        "stale",
        "attempts",
        "block",
        "effect",
        "result_status",
        "problem",
    )
    for intent_id, intent in before.intents.items():
        other = after.intents[intent_id]
        assert [getattr(intent, name) for name in kept] == [getattr(other, name) for name in kept]
        # Why a person denied a call is text too, and goes with the call's.
        words = intent.state is IntentState.DENIED and other.redacted
        assert other.reason == (None if words else intent.reason)
        assert (intent.start, intent.end, intent.held_seq, intent.closed_seq) == (
            other.start,
            other.end,
            other.held_seq,
            other.closed_seq,
        )
    assert replace(before, branches={}, intents={}, seq=0, redacted=frozenset()) == replace(
        after, branches={}, intents={}, seq=0, redacted=frozenset()
    )


def _blank(after: StreamState, left: list[Event], made: Plan) -> None:
    for intent in made.intents:
        branch = after.branches[intent.branch]
        inside = [branch.token(p) for p in range(intent.start, min(intent.end, branch.drafted_end))]
        assert {(t.text, t.id, t.drafter) for t in inside} <= {("", None, None)}
        if intent.arguments_raw and len(intent.arguments_raw) > 12:
            said = json.dumps([dict(e.payload) for e in left if e.intent_id == intent.intent_id])
            assert json.dumps(intent.arguments_raw)[1:-1] not in said
            assert (intent.arguments_digest or "\0") not in said
            assert (intent.idempotency_key or "\0") not in said


class Redacted(Core):
    """A history at whose end everything that may be redacted is."""

    def check(self) -> None:
        """Finish the stream, give up on what is on its way, and redact."""
        now = self.state.last_writer_at
        assert now is not None
        now += timedelta(days=1)
        if self.state.finished is None:
            self.write(self.state.writer_epoch, [{"type": "stream.finished", "reason": "stop"}], now)
        for intent in list(self.state.intents.values()):
            if intent.open_attempt is not None:
                status = ResultStatus.OK.value
                self.answer(intent.intent_id, intent.open_attempt, status, {"n": 1}, now, unsent=False)
            if self.state.intents[intent.intent_id].state == "in_doubt":
                self.resolve(intent.intent_id, happened=True, now=now)
        events = [as_stored(event) for event in self.log]
        check(self.state, events, SEEN, Random(len(events)))


def test_blanking_and_folding_what_remains_are_the_same(report):
    SEEN.clear()
    play(Redacted, Counter(), seed=FIRST_SEED, histories=HISTORIES, steps=20, shrink=False)
    report(f"{SEEN['redacted']:,} redactions over {HISTORIES} histories, {SEEN['payloads']:,} payloads")
    assert SEEN["redacted"] > HISTORIES
    assert SEEN["rulings"] > HISTORIES
    assert SEEN["twin"] > 0
    assert SEEN["redaction_intent_not_over"] > 0


def log_of(desk: Desk) -> list[Event]:
    return [recorded(seq, new, desk.state.opened_at) for seq, new in enumerate(desk.log, 1)]
