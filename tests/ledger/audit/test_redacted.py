"""A redacted event is a row that says so, never an error; and what its typed columns still tell is shown."""

from datetime import timedelta
from random import Random

import pytest

from ledger.errors import IntentNotOver
from ledger.events import EventType
from ledger.redaction.recording import record
from ledger.sharding import StreamName
from tests.ledger.audit.asking import VIEWS
from tests.ledger.audit.compare import check_all, check_story
from tests.ledger.audit.wandering import Wandering


def _wandered(ledger, tenant: str, seed: int) -> Wandering:
    turn = Wandering(ledger, tenant, f"w{seed}", Random(seed), age=timedelta(hours=48))
    turn.wander(120)
    return turn


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 12))])
def test_any_event_may_be_redacted(auditor, ledger, tenant, planter, seed):
    turn = _wandered(ledger, tenant, seed)
    name, events = StreamName.of(tenant, turn.key), turn.events
    accepted = {b.name: b.head for b in turn.state.branches.values()}
    order = list(events)
    Random(seed).shuffle(order)
    for place, event in enumerate(order):
        planter.redact(name, event.seq)
        if place % 60 and place != len(order) - 1:
            continue
        for view in VIEWS:
            auditor.rows(view, turn.key)
        check_story(auditor, turn)
        for branch, head in accepted.items():
            # Every accepted position has its row, readable or not.
            tokens = [row for row in auditor.rows("tokens", turn.key) if row["branch"] == branch]
            places = [row["position"] for row in tokens if row["verdict"] == "accepted"]
            assert sorted(places) == list(range(head)), f"after {event.type}"
    for view in ("tokens", "rulings", "intents", "dispatches", "timeline", "bindings"):
        rows = auditor.rows(view, turn.key)
        assert rows, view
        assert all(row["redacted"] for row in rows), view


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 40))]
)
def test_a_redaction_leaves_what_fold_and_reconciliation_make_of_it(
    auditor, engine, ledger, tenant, planter, seed
):
    turn = _wandered(ledger, tenant, seed)
    if turn.state.finished is None:
        turn.finish()
    name, gone = StreamName.of(tenant, turn.key), 0
    for intent in turn.state.intents.values():
        try:
            said = record(
                turn.ledger,
                tenant,
                turn.key,
                intent.intent_id,
                by="o\x07",
                reason="asked",
                name_stays=turn.knows,
            )
        except IntentNotOver:
            continue
        for event in said.events:
            for seq in event.payload["seqs"]:
                planter.redact(name, seq)
                gone += 1
        if gone > 40:
            break
    assert gone
    check_all(auditor, engine, turn)


def test_what_was_redacted_is_null_and_the_rest_stays(auditor, ledger, tenant, planter):
    turn = _wandered(ledger, tenant, 5)
    name = StreamName.of(tenant, turn.key)
    held = next(e for e in turn.events if e.type is EventType.INTENT_HELD)
    before = {row["intent_id"]: row for row in auditor.rows("intents", turn.key)}
    planter.redact(name, held.seq)
    after = {row["intent_id"]: row for row in auditor.rows("intents", turn.key)}
    row = after.pop(held.intent_id)
    assert (row["redacted"], row["arguments_raw"], row["tool"]) == (True, None, None)
    assert (row["state"], row["held_seq"]) == (before[held.intent_id]["state"], held.seq)
    assert after == {key: value for key, value in before.items() if key != held.intent_id}
