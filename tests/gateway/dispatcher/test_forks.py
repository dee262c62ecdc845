"""A fork does not repeat a WRITE of what it forked from unless a person approves it (ACRFence: replay or fork)."""

import pytest

from effects.intent import IntentState
from gateway.principal import everyone
from gateway.service.approvals import Approvals
from gateway.turn.opening import StreamTerms
from ledger.events import EventType
from ledger.sharding import StreamName
from tests.gateway.dispatcher.floor import TENANT, Floor, Turn, spelled, with_settings


def fork(floor: Floor, of: str, key: str, tool: str, **arguments: object) -> Turn:
    terms = StreamTerms(source="detected", fork_of=of)
    view, _ = floor.streams.open(everyone(TENANT), key, terms)
    turn = Turn(floor, key, int(str(view["writer_epoch"])))
    turn.write(EventType.TOKENS_ACCEPTED, round=0, tokens=[{"text": spelled(tool, arguments)}])
    return turn


def asked(turn: Turn) -> bool:
    intent = turn.intent
    return (intent.state, intent.reason) == (IntentState.AWAITING_APPROVAL, "fork_repeats")


def test_a_forks_write_that_its_ancestors_made_waits_for_a_person(floor: Floor) -> None:
    with floor.dispatching():
        trunk = floor.turn("write", key="trunk", n=1)
        trunk.until(IntentState.SETTLED, final=True)
        other = fork(floor, "trunk", "limb", "write", n=2)
        other.until(IntentState.SETTLED, final=True)
        again = fork(floor, "limb", "twig", "write", n=1)
        assert asked(again), "the WRITE of its grandparent"
        free = fork(floor, "limb", "leaf", "read", n=1)
        free.until(IntentState.SETTLED, final=True)
        assert len(floor.tools.received("/write")) == 2
        approvals = Approvals(floor.engine, floor.ledger, floor.tables, floor.clock)
        approvals.approve(everyone(TENANT), "twig", again.intent.intent_id, note="yes, twice")
        again.until(IntentState.SETTLED, final=True)
    assert len(floor.tools.received("/write")) == 3


def test_a_write_in_flight_or_in_doubt_counts_and_one_that_was_never_sent_does_not(floor: Floor) -> None:
    trunk = floor.draft("write", key="trunk", n=1)
    limb = fork(floor, "trunk", "limb", "write", n=1)
    assert limb.intent.state is IntentState.RELEASED, "the trunk's is not even accepted"
    floor.tools.hold("/write")
    trunk.accept()
    floor.put_in_force(timeout="200ms")
    with floor.dispatching():
        for turn in (trunk, limb):
            turn.until(IntentState.IN_DOUBT)
        assert asked(fork(floor, "trunk", "later", "write", n=1))
        flying = floor.turn("write", key="flying", n=3)
        floor.tools.await_received("/write", 3)
        assert asked(fork(floor, "flying", "after", "write", n=3)), flying.types


def test_a_write_let_go_before_its_ancestor_sent_the_same_is_asked_about_at_its_claim(floor: Floor) -> None:
    trunk = floor.draft("write", key="trunk", n=1)
    limb = fork(floor, "trunk", "limb", "write", n=1)
    assert limb.intent.state is IntentState.RELEASED
    trunk.accept()
    trunks_only = with_settings(shards=(StreamName.of(TENANT, "trunk").shard,))
    assert StreamName.of(TENANT, "limb").shard not in trunks_only.shards
    with floor.dispatching(trunks_only):
        trunk.until(IntentState.SETTLED, final=True)
    with floor.dispatching():
        limb.until(IntentState.AWAITING_APPROVAL)
    assert asked(limb)
    assert [r.headers["commit-key"] for r in floor.tools.received("/write")] == ["trunk"]


@pytest.mark.parametrize("tool", ["put", "read"])
def test_only_writes_are_asked_about(floor: Floor, tool: str) -> None:
    with floor.dispatching():
        floor.turn(tool, key="trunk", n=1).until(IntentState.SETTLED, final=True)
        limb = fork(floor, "trunk", "limb", tool, n=1).until(IntentState.SETTLED, final=True)
    assert limb.approval is None
    assert [r.headers["commit-key"] for r in floor.tools.received(f"/{tool}")] == ["trunk", "limb"]
