"""What waits to be done: every question finds its own, and is led by the index that begins with the shard."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, event, text

from ledger.append import Change, Ledger, Licence
from ledger.connect import connect
from ledger.events import EventType, NewEvent
from ledger.sharding import SHARDS, StreamName
from ledger.work import Work
from tests.ledger import story

ALL = tuple(range(SHARDS))


@pytest.fixture
def engine(database) -> Iterator[Engine]:
    engine = connect(database.service_url)
    yield engine
    engine.dispose()


@pytest.fixture
def work(engine: Engine) -> Work:
    return Work(engine)


def release(ledger: Ledger, key: str, *more: NewEvent) -> StreamName:
    events = (
        story.opened(),
        story.drafted(0, 8),
        story.ruled(0, 8, 8),
        story.held(),
        story.released(),
        *more,
    )
    ledger.append("t", key, story.these(*events))
    return StreamName.of("t", key)


def expired(retry_at: datetime) -> NewEvent:
    payload = {
        "intent_id": story.INTENT,
        "attempt": 1,
        "because": "timeout",
        "retry_at": retry_at.isoformat(),
    }
    return NewEvent(EventType.DISPATCH_EXPIRED, payload, branch="main", intent_id=story.INTENT, attempt=1)


def test_released_calls_are_found_in_the_shards_asked_for(ledger: Ledger, work: Work) -> None:
    streams = sorted((release(ledger, f"k{n}") for n in range(20)), key=lambda s: (s.shard, s.commit_key))
    release(ledger, "sent", story.started())
    assert [call.stream for call in work.released(ALL, 100)] == streams
    some = [stream.shard for stream in streams[::2]]
    assert {call.stream.shard for call in work.released(some, 100)} == set(some)
    assert work.released([], 100) == []


def test_the_turn_goes_round_the_shards(ledger: Ledger, work: Work) -> None:
    streams = sorted((release(ledger, f"k{n}") for n in range(20)), key=lambda s: (s.shard, s.commit_key))
    middle = streams[9].shard
    expected = [s for s in streams if s.shard > middle] + [s for s in streams if s.shard <= middle]
    assert [call.stream for call in work.released(ALL, 100, after=middle)] == expected
    assert [call.stream for call in work.released(ALL, 3, after=middle)] == expected[:3]


def test_expired_leases(ledger: Ledger, work: Work) -> None:
    for key, seconds in (("past", 0.0), ("running", 60.0)):
        stream = release(ledger, key)
        licence = Licence(
            intent_id=story.INTENT,
            attempt=1,
            branch="main",
            effect="WRITE",
            once_key="o",
            worker="w",
            epoch=4,
            lease_seconds=seconds,
        )
        ledger.append("t", key, lambda _state, row=licence: Change((story.started(),), (row,)))
    [found] = work.expired_leases(ALL, 10)
    assert (found.stream.commit_key, found.intent_id, found.attempt, found.epoch) == (
        "past",
        story.INTENT,
        1,
        4,
    )
    assert work.expired_leases([stream.shard], 10) == []


def test_due_retries(ledger: Ledger, work: Work) -> None:
    now = datetime.now(UTC)
    due = release(ledger, "due", story.started(), expired(now - timedelta(seconds=1)))
    release(ledger, "later", story.started(), expired(now + timedelta(hours=1)))
    release(ledger, "released")
    assert work.due_retries(ALL, now, 10) == [due]
    assert len(work.due_retries(ALL, now + timedelta(hours=2), 10)) == 2


def test_idle_streams(ledger: Ledger, work: Work) -> None:
    idle = release(ledger, "idle")
    ended = NewEvent(EventType.STREAM_FINISHED, {"reason": "stop"})
    release(ledger, "ended", ended)
    ledger.append("t", "_effects", story.these(NewEvent(EventType.EFFECTS_CHANGED, {"version": 1})))
    # The row says the next full second.
    assert work.idle_streams(ALL, timedelta(seconds=-1), 10) == [idle]
    assert work.idle_streams(ALL, timedelta(hours=1), 10) == []


def test_outcome_recorded(ledger: Ledger, work: Work) -> None:
    stream = release(ledger, "k", story.started(), story.settled())
    assert work.outcome_recorded(stream, story.INTENT, 1, EventType.DISPATCH_SETTLED)
    assert not work.outcome_recorded(stream, story.INTENT, 2, EventType.DISPATCH_SETTLED)
    assert not work.outcome_recorded(stream, story.INTENT, 1, EventType.DISPATCH_LATE)


@pytest.mark.parametrize(
    ("ask", "index", "scans"),
    [
        (lambda work: work.released(ALL, 10, after=100), "intents_released", 2),
        (lambda work: work.expired_leases(ALL, 10), "dispatches_open_by_lease", 1),
        (lambda work: work.due_retries(ALL, datetime.now(UTC), 10), "intents_due", 1),
        (lambda work: work.idle_streams(ALL, timedelta(hours=1), 10), "streams_open_by_last_at", 1),
        (
            lambda work: work.outcome_recorded(StreamName.of("t", "k"), "i", 1, EventType.DISPATCH_LATE),
            "events_by_intent",
            1,
        ),
    ],
)
def test_every_question_is_led_by_its_index_also_under_a_generic_plan(
    work: Work, engine: Engine, ask, index: str, scans: int
) -> None:
    asked: list[tuple[str, object]] = []
    event.listen(engine, "before_cursor_execute", lambda *a: asked.append((a[2], a[3])))
    ask(work)
    statement, parameters = asked[-1]
    assert "shard = " in statement
    with engine.connect() as connection:
        connection.execute(text("set plan_cache_mode = force_generic_plan"))
        connection.execute(text("set enable_seqscan = off"))
        driver = connection.connection.driver_connection
        plan = driver.execute("explain (format json) " + statement, parameters, prepare=True).fetchone()[0]
    used = [node for node in _nodes(plan[0]["Plan"]) if "Index Name" in node]
    assert [node["Index Name"] for node in used] == [index] * scans
    assert all("shard" in node["Index Cond"] for node in used), json.dumps(plan, indent=1)


def _nodes(plan: dict) -> Sequence[dict]:
    return [plan, *(inner for child in plan.get("Plans", []) for inner in _nodes(child))]
