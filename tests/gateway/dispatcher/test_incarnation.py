"""A database that is not taken in: the guard refuses, reads go, dispatchers take it in together, one stream stops one shard."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import create_engine, text
from structlog.testing import capture_logs

from effects.intent import IntentState, ResultStatus
from gateway.dispatcher.incarnation import Intake
from gateway.dispatcher.leases import Lease
from gateway.dispatcher.outcome import Outcomes
from gateway.turn.dispatching import Outcome
from gateway.turn.restored import doubt_unsettled
from gateway.turn.unfolding import Unfolding
from ledger.change import Change, Licence
from ledger.errors import LicenceRefused
from ledger.events import EventType
from ledger.incarnation import NOT_TAKEN_IN, RESTORED, Incarnations
from ledger.sharding import SHARDS, StreamName
from tests.gateway.dispatcher.floor import TENANT, Floor, Turn
from tests.gateway.toolserver import eventually, ok
from tests.ledger import story
from tests.postgres import TestDatabase

Tell = Callable[[str], None]
COME_BACK = "update ledger.incarnations set identity = '1/00000001/1'"
STARTED_AGAIN = "update ledger.incarnations set started_at = started_at - interval '1 day'"


@pytest.fixture
def tell(database: TestDatabase) -> Iterator[Tell]:
    """Run a statement as a superuser."""
    engine = create_engine(database.admin_url)

    def run(statement: str) -> None:
        with engine.begin() as connection:
            connection.execute(text(statement))

    yield run
    engine.dispose()


def unheeding(monkeypatch: pytest.MonkeyPatch) -> None:
    async def once(_intake: Intake) -> int:
        return 0

    monkeypatch.setattr(Intake, "once", once)


@pytest.mark.parametrize("statement", [COME_BACK, STARTED_AGAIN])
def test_nothing_but_reads_is_licensed_before_it_is_taken_in(
    floor: Floor, tell: Tell, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    unheeding(monkeypatch)
    turns = {tool: floor.turn(tool, key=tool) for tool in ("write", "put", "read")}
    tell(statement)
    with capture_logs() as logs, floor.dispatching():
        turns["read"].until(IntentState.SETTLED, final=True)
        eventually(
            lambda: len({log.get("commit_key") for log in logs if log["event"] == "not_taken_in_yet"}) == 2
        )
    assert not [log for log in logs if log["event"] == "speculative_effect_violation"]
    assert [turns[tool].intent.state for tool in ("write", "put")] == [IntentState.RELEASED] * 2
    assert floor.tools.received("/write") == floor.tools.received("/put") == []


def test_the_database_itself_refuses_the_licence(floor: Floor, tell: Tell) -> None:
    floor.ledger.append(
        TENANT,
        "k",
        story.these(
            story.opened(), story.drafted(0, 8), story.ruled(0, 8, 8), story.held(), story.released()
        ),
    )
    licence = Licence(
        intent_id=story.INTENT,
        attempt=1,
        branch="main",
        effect="WRITE",
        once_key=story.INTENT,
        worker="w",
        epoch=1,
        lease_seconds=10,
    )
    tell(COME_BACK)
    with pytest.raises(LicenceRefused) as refused:
        floor.ledger.append(TENANT, "k", lambda _: Change((story.started(),), (licence,)))
    assert refused.value.constraint == NOT_TAKEN_IN


def test_a_server_that_was_started_again_makes_no_doubt(floor: Floor, tell: Tell) -> None:
    turn = floor.turn("write", key="a")
    tell(STARTED_AGAIN)
    with floor.dispatching():
        turn.until(IntentState.SETTLED, final=True)
    assert turn.of(EventType.DISPATCH_IN_DOUBT) == []


def test_many_dispatchers_take_it_in_together(floor: Floor, tell: Tell) -> None:
    turns = [floor.turn("write", key=f"k{n}") for n in range(20)]
    tell(COME_BACK)
    with floor.dispatching(), floor.dispatching(), floor.dispatching():
        for turn in turns:
            turn.until(IntentState.IN_DOUBT)
        floor.turn("write", key="later").until(IntentState.SETTLED, final=True)
    assert [turn.types.count("dispatch.in_doubt") for turn in turns] == [1] * len(turns)
    assert len(floor.tools.received("/write")) == 1
    look = Incarnations(floor.engine).look(range(SHARDS))
    assert (look.foreign, look.restarted) == ((), ())


def test_what_is_under_way_is_in_doubt_until_its_answer_comes(floor: Floor, tell: Tell) -> None:
    held = floor.tools.hold("/write", ok({"n": 3}))
    turn = floor.turn("write", key="a")
    with floor.dispatching():
        floor.tools.await_received("/write")
        tell(COME_BACK)
        assert turn.until(IntentState.IN_DOUBT).reason == RESTORED
        held.release()
        assert turn.until(IntentState.SETTLED, final=True).result_content == {"n": 3}
    assert turn.types.count("dispatch.late") == 1
    assert len(floor.tools.received("/write")) == 1


def test_an_answer_to_a_lost_attempt_settles_the_doubt(floor: Floor) -> None:
    """The ledger knows the call as let go; a worker of before has its answer."""
    turn = floor.turn("write", key="a")
    name = StreamName.of(TENANT, turn.key)
    _doubt(floor, turn)
    assert (turn.intent.state, turn.intent.attempts) == (IntentState.IN_DOUBT, 1)
    dispatcher = floor.dispatcher()
    lease = Lease(name, turn.intent.intent_id, 1, 1, 60.0, 0.0)
    outcome = Outcome(status=ResultStatus.OK, content={"n": 4})
    asyncio.run(Outcomes(dispatcher._books, floor.work).settle(lease, outcome))
    assert (turn.intent.final, turn.intent.result_content) == (True, {"n": 4})


def test_an_answer_to_a_lost_read_is_not_taken_for_the_one_that_was_sent_again(floor: Floor) -> None:
    """Attempt and epoch are the same, and the answer is older: from before writes that the other one sees."""
    held = floor.tools.hold("/read", ok({"n": "new"}))
    turn = floor.turn("read")
    lease = Lease(StreamName.of(TENANT, turn.key), turn.intent.intent_id, 1, 1, 60.0, 0.0, "of before")
    with floor.dispatching() as dispatcher, ThreadPoolExecutor(1) as threads:
        floor.tools.await_received("/read")
        settling = Outcomes(dispatcher._books, floor.work).settle(
            lease, Outcome(ResultStatus.OK, {"n": "old"})
        )
        with capture_logs() as logs:
            settled = threads.submit(asyncio.run, settling)
            eventually(lambda: [log for log in logs if log["event"] == "outcome_not_recorded_yet"])
        assert turn.intent.state is IntentState.DISPATCHED
        held.release()
        assert turn.until(IntentState.SETTLED, final=True).result_content == {"n": "new"}
        settled.result(20)
    assert turn.types.count("dispatch.late") == 1
    assert turn.intent.result_content == {"n": "new"}


def test_an_answer_to_an_intent_that_is_gone_is_said_aloud(floor: Floor) -> None:

    turn = floor.turn("write", key="a")
    lease = Lease(StreamName.of(TENANT, turn.key), "gone", 1, 1, 60.0, 0.0)
    with capture_logs() as logs:
        settling = Outcomes(floor.dispatcher()._books, floor.work).settle(
            lease, Outcome(ResultStatus.OK, {"n": 4})
        )
        asyncio.run(settling)
    [said] = [log for log in logs if log["event"] == "outcome_of_lost_intent"]
    assert (said["log_level"], said["intent_id"], said["content"]) == ("error", "gone", {"n": 4})


@pytest.mark.parametrize(("age", "expected"), [(60.0, IntentState.RELEASED), (7200.0, IntentState.IN_DOUBT)])
def test_an_idempotent_call_goes_on_within_its_window_only(
    floor: Floor, age: float, expected: IntentState
) -> None:
    turn = floor.turn("put", key="a")
    key = turn.intent.idempotency_key
    floor.clock.skip(age)
    _doubt(floor, turn)
    assert turn.intent.state is expected
    assert (turn.intent.attempts, turn.intent.idempotency_key) == (1, key)


def test_a_stream_that_cannot_be_decided_keeps_its_own_shard_back(
    floor: Floor, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = floor.turn("write", key="bad"), floor.turn("write", key="good")

    def refusing(unfolding, force, since) -> None:
        if unfolding.state.commit_key == "bad":
            raise RuntimeError("this one breaks")
        doubt_unsettled(unfolding, force, since)

    monkeypatch.setattr("gateway.dispatcher.incarnation.doubt_unsettled", refusing)
    tell(COME_BACK)
    incarnations = Incarnations(floor.engine)
    stuck = StreamName.of(TENANT, "bad").shard
    with floor.dispatching():
        good.until(IntentState.IN_DOUBT)
        eventually(lambda: incarnations.look(range(SHARDS)).foreign == (stuck,))
        assert bad.intent.state is IntentState.RELEASED
        monkeypatch.undo()
        bad.until(IntentState.IN_DOUBT)
        eventually(lambda: incarnations.look(range(SHARDS)).foreign == ())


def _doubt(floor: Floor, turn: Turn) -> None:
    """What taking it in makes of the stream, without anybody who would send it again."""

    since = Incarnations(floor.engine).let_go_since(StreamName.of(TENANT, turn.key))
    force = floor.tables.current(TENANT)

    def decide(state):
        unfolding = Unfolding(state, floor.clock())
        doubt_unsettled(unfolding, force, since)
        return Change(unfolding.events)

    floor.ledger.append(TENANT, turn.key, decide)
