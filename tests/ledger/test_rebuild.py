"""Projections can be dropped and rebuilt from events to the same rows (design.md, "The ledger")."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, Engine, create_engine, text

from ledger import rebuild as rebuilding
from ledger.append import Change, Ledger
from ledger.connect import connect
from ledger.events import EFFECTS_STREAM, Event, EventType, NewEvent
from ledger.sharding import StreamName
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn
from tests.ledger.story import opened
from tests.postgres import TestDatabase

KEPT = ("dispatches", "batches", "events")
GHOST = """
insert into ledger.intents
select (jsonb_populate_record(null::ledger.intents, to_jsonb(one) || '{"intent_id": "ghost"}')).*
from ledger.intents one where tool = 'create'
"""
PROJECTED = ("streams", "intents")


@pytest.fixture
def engine(database: TestDatabase) -> Iterator[Engine]:
    service = connect(database.service_url)
    yield service
    service.dispose()


@pytest.fixture
def owner(database: TestDatabase) -> Iterator[Engine]:
    admin = create_engine(database.admin_url)
    yield admin
    admin.dispose()


@pytest.fixture
def lived(engine: Engine) -> Engine:
    """Two turns with an early read thrown away, a cut, a redraft and a doubt."""
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    for key in ("one", "two"):
        turn = LiveTurn(ledger, "t", key)
        turn.draft(spell("delete", name="a") + spell("read", name="a"))
        turn.call("read")
        main = turn.state.branches["main"]
        turn.rule(main.drafted_end, 5, "?")
        turn.draft(spell("create", name="b") + spell("read", name="b"))
        main = turn.state.branches["main"]
        turn.rule(main.drafted_end, main.drafted_end - main.head)
        turn.claim("create")
        turn.lose("create")
    return engine


def dump(engine: Engine, tables: tuple[str, ...]) -> dict[str, list[tuple[object, ...]]]:
    with engine.connect() as connection:
        return {
            table: sorted(
                tuple(map(str, row)) for row in connection.execute(text(f"select * from ledger.{table}"))
            )
            for table in tables
        }


def test_a_living_ledger_is_what_its_events_amount_to(lived: Engine) -> None:
    assert list(rebuilding.check(lived)) == []


def test_dropped_projections_come_back_equal_and_nothing_else_is_touched(
    lived: Engine, owner: Engine
) -> None:
    before = dump(owner, PROJECTED + KEPT)
    assert before["intents"]
    with owner.begin() as connection:
        connection.execute(text("truncate ledger.streams, ledger.intents"))
    assert {d.table for d in rebuilding.check(lived)} == set(PROJECTED)
    assert rebuilding.rebuild(lived) == 2
    assert dump(owner, PROJECTED + KEPT) == before
    assert list(rebuilding.check(lived)) == []


@pytest.mark.parametrize(
    ("spoil", "table", "detail"),
    [
        ("update ledger.intents set final = not final where tool = 'create'", "intents", "differs in final"),
        ("update ledger.streams set writer_epoch = 9", "streams", "differs in writer_epoch"),
        ("delete from ledger.intents where tool = 'create'", "intents", "is missing"),
        (
            GHOST,
            "intents",
            "ghost is not in the events",
        ),
    ],
)
def test_a_projection_that_was_spoiled_is_named_and_mended(
    lived: Engine, owner: Engine, spoil: str, table: str, detail: str
) -> None:
    with owner.begin() as connection:
        connection.execute(text(spoil))
    found = list(rebuilding.check(lived))
    assert len(found) == 2
    assert {d.table for d in found} == {table}
    assert all(detail in d.detail for d in found)
    rebuilding.rebuild(lived)
    assert list(rebuilding.check(lived)) == []


def test_rows_of_a_stream_without_events_are_found_and_removed(lived: Engine, owner: Engine) -> None:
    shard = StreamName.of("t", "never").shard
    with owner.begin() as connection:
        connection.execute(text(f"insert into ledger.streams values ({shard}, 't', 'never', 3, 1)"))
    assert [(d.commit_key, d.table) for d in rebuilding.check(lived)] == [("never", "streams")]
    rebuilding.rebuild(lived)
    assert list(rebuilding.check(lived)) == []


def test_the_stream_of_the_effect_table_is_rebuilt_too_and_takes_events_again(
    engine: Engine, owner: Engine
) -> None:
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))

    def append_version(version: int) -> None:
        changed = NewEvent(EventType.EFFECTS_CHANGED, {"version": version})
        ledger.append("t", EFFECTS_STREAM, lambda _state: Change((changed,)))

    append_version(1)
    before = dump(owner, PROJECTED)
    with owner.begin() as connection:
        connection.execute(text("truncate ledger.streams"))
    assert [(d.commit_key, d.table) for d in rebuilding.check(engine)] == [(EFFECTS_STREAM, "streams")]
    assert rebuilding.rebuild(engine) == 1
    assert dump(owner, PROJECTED) == before
    append_version(2)
    assert list(rebuilding.check(engine)) == []


def test_a_rebuilt_stream_counts_as_unsealed_and_the_flag_is_no_difference(
    lived: Engine, owner: Engine
) -> None:
    with owner.begin() as connection:
        connection.execute(text("update ledger.streams set unsealed = false"))
    assert list(rebuilding.check(lived)) == []
    rebuilding.rebuild(lived)
    with owner.connect() as connection:
        assert connection.execute(text("select bool_and(unsealed) from ledger.streams")).scalar_one()


def test_events_that_come_while_a_stream_is_compared_are_no_difference(
    lived: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(lived, clock=lambda: datetime.now(UTC))
    read = rebuilding.read_events

    def reading(connection: Connection, name: StreamName, **where: int) -> list[Event]:
        epoch = ledger.read(name.tenant, name.commit_key).writer_epoch + 1
        taken = NewEvent(EventType.STREAM_TAKEN_OVER, {"writer_epoch": epoch})
        ledger.append(name.tenant, name.commit_key, lambda _state: Change((taken,)))
        return read(connection, name, **where)

    monkeypatch.setattr(rebuilding, "read_events", reading)
    assert list(rebuilding.check(lived)) == []


def test_a_run_that_was_stopped_goes_on_behind_its_cursor(lived: Engine, owner: Engine) -> None:
    before = dump(owner, PROJECTED)
    with owner.begin() as connection:
        connection.execute(text("truncate ledger.streams, ledger.intents"))
    told: list[rebuilding.Progress] = []

    def stop(progress: rebuilding.Progress) -> None:
        told.append(progress)
        if progress.streams == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuilding.rebuild(lived, stop)
    cursor = told[-1].cursor
    assert cursor is not None
    whole, left = rebuilding.size(lived), rebuilding.size(lived, after=cursor)
    assert (whole.streams, left.streams) == (2, 1)
    assert whole.events == left.events + told[-1].events
    assert len({d.commit_key for d in rebuilding.check(lived)}) == 1
    assert list(rebuilding.check(lived, after=cursor)) != []
    assert rebuilding.rebuild(lived, after=cursor) == 1
    assert dump(owner, PROJECTED) == before
    assert list(rebuilding.check(lived)) == []


def test_a_single_stream_is_compared_and_rebuilt_alone(lived: Engine, owner: Engine) -> None:
    with owner.begin() as connection:
        connection.execute(text("update ledger.streams set writer_epoch = 9"))
    one, two = StreamName.of("t", "one"), StreamName.of("t", "two")
    assert [d.commit_key for d in rebuilding.check(lived, only=one)] == ["one"]
    assert rebuilding.rebuild(lived, only=one) == 1
    assert list(rebuilding.check(lived, only=one)) == []
    assert [d.commit_key for d in rebuilding.check(lived, only=two)] == ["two"]


@pytest.mark.parametrize(
    ("few", "many"), [((10, 5), (100, 5)), ((1, 200), (1, 2000))], ids=["many streams", "one long stream"]
)
def test_memory_does_not_grow_with_what_is_rebuilt(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, few: tuple[int, int], many: tuple[int, int]
) -> None:
    """Takeovers, which a state forgets: all that could grow is what the run keeps of its own."""
    monkeypatch.setattr(rebuilding, "PAGE", 50)
    for run in (rebuilding.check, rebuilding.rebuild):
        peaks = []
        for streams, events in (few, many):
            grow(engine, streams, events)
            peaks.append(most_held(engine, run))
        assert peaks[1] < 1.5 * peaks[0] + 50_000, run


def test_the_measure_of_memory_sees_a_run_that_keeps_every_event(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "PAGE", 10**9)
    peaks = []
    for events in (200, 2000):
        grow(engine, 1, events)
        peaks.append(most_held(engine, rebuilding.check))
    assert peaks[1] > 1.5 * peaks[0] + 50_000


def grow(engine: Engine, streams: int, events: int) -> None:
    """Let there be so many streams of at least so many events."""
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    for n in range(streams):
        take_over_often(ledger, f"stream-{n}", max(0, events - ledger.read("t", f"stream-{n}").seq))


def take_over_often(ledger: Ledger, key: str, events: int) -> None:
    done = ledger.read("t", key)
    epochs = range(done.writer_epoch + 1, done.writer_epoch + events + 1)
    first = () if done.exists else (opened(),)
    taken = [NewEvent(EventType.STREAM_TAKEN_OVER, {"writer_epoch": epoch}) for epoch in epochs]
    for start in range(0, events, 500):
        more = (*(first if start == 0 else ()), *taken[start : start + 500])
        ledger.append("t", key, lambda _state, more=more: Change(more))


def most_held(engine: Engine, run: Callable[..., object]) -> int:
    """Bytes that are alive at most, seen whenever the run tells how far it has come."""
    most = 0

    told = 0

    def look(_progress: rebuilding.Progress) -> None:
        nonlocal most, told
        told += 1
        if told % 5 == 0:
            gc.collect()
        most = max(most, tracemalloc.get_traced_memory()[0])

    made = run(
        engine, only=StreamName.of("t", "stream-0")
    )  # what is made once, and kept, is not what a run needs
    for _ in made if isinstance(made, Iterator) else ():
        pass
    gc.collect()
    gc.freeze()  # so that collecting looks at what is new
    tracemalloc.start()
    try:
        found = run(engine, look)
        assert not isinstance(found, Iterator) or list(found) == []
        return most
    finally:
        tracemalloc.stop()
        gc.unfreeze()
