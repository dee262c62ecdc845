"""Appending: in order, without gaps, all or nothing, decided again where another writer was faster."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import sha256
from threading import Barrier

import pytest
from sqlalchemy import func, select, text

from ledger.append import BatchReplay, Change, Ledger
from ledger.connect import connect
from ledger.errors import AppendContention, BatchIdTaken, LedgerUnavailable, UnwritableValue
from ledger.events import EventType, NewEvent
from ledger.schema import batches, dispatches, events, intents, streams
from tests.ledger.story import KEY, accepted, drafted, held, opened, ruled, these


def other_process(engine) -> Ledger:
    """A ledger that shares nothing with another but the database."""
    return Ledger(engine, clock=lambda: datetime.now(UTC))


def row_counts(engine, tenant: str) -> dict[str, int]:
    counts = {
        table.name: select(func.count()).select_from(table).where(table.c.tenant == tenant)
        for table in (events, streams, intents, dispatches, batches)
    }
    with engine.connect() as connection:
        return {name: connection.execute(count).scalar_one() for name, count in counts.items()}


def test_what_is_appended_is_read_back(ledger, engine, tenant):
    appended = ledger.append(tenant, KEY, these(opened(), drafted(0, 6), held()))
    assert [event.seq for event in appended.events] == [1, 2, 3]
    assert tuple(ledger.events(tenant, KEY, after=0, limit=10)) == appended.events
    assert ledger.events(tenant, KEY, after=1, limit=1) == [appended.events[1]]
    assert ledger.read(tenant, KEY) == appended.state == other_process(engine).read(tenant, KEY)


def test_a_stream_that_does_not_exist_reads_as_nothing(ledger, tenant):
    assert ledger.read(tenant, "never").seq == 0
    assert ledger.events(tenant, "never", after=0, limit=10) == []


def test_tenants_share_nothing(ledger, tenant):
    ledger.append(tenant, KEY, these(opened()))
    assert ledger.read("other", KEY).seq == 0


def test_an_empty_change_writes_nothing(ledger, engine, tenant):
    ledger.append(tenant, KEY, these(opened()))
    before = row_counts(engine, tenant)
    appended = ledger.append(tenant, KEY, lambda _: Change())
    assert (appended.state.seq, appended.events) == (1, ())
    assert row_counts(engine, tenant) == before


def test_stored_bytes_are_canonical_and_their_digest_is_salted(ledger, engine, tenant):
    payload = {"b": 1.0, "a": "ü\u2028\\", "n": [1e16, 2**53 - 1]}
    event = NewEvent(EventType.EFFECTS_CHANGED, payload)
    ledger.append(tenant, "_effects", these(event, event))
    with engine.connect() as connection:
        query = text("select payload, salt, payload_digest from ledger.events where tenant = :t order by seq")
        rows = connection.execute(query, {"t": tenant}).all()
    assert rows[0].payload == '{"a":"ü\u2028\\\\","b":1,"n":[10000000000000000,9007199254740991]}'
    for row in rows:
        assert len(row.salt) == 16
        assert row.payload_digest == sha256(row.salt + row.payload.encode()).digest()
    assert rows[0].payload_digest != rows[1].payload_digest


@pytest.mark.parametrize("value", [float("nan"), "\ud800", {1: 2}, 2**53, object()])
def test_what_is_no_json_is_refused_and_nothing_is_written(ledger, engine, value, tenant):
    with pytest.raises(UnwritableValue):
        ledger.append(tenant, "_effects", these(NewEvent(EventType.EFFECTS_CHANGED, {"value": value})))
    assert set(row_counts(engine, tenant).values()) == {0}


def test_what_no_column_can_hold_is_refused_and_nothing_is_written(ledger, engine, tenant):
    with pytest.raises(UnwritableValue):
        ledger.append(tenant, "a\x00b", these(opened()))
    assert set(row_counts(engine, tenant).values()) == {0}


def test_projections_follow_the_events(ledger, engine, tenant):
    ledger.append(tenant, KEY, these(opened(), drafted(0, 6), held()))
    ledger.append(tenant, KEY, these(ruled(0, 6, 4)))
    with engine.connect() as connection:
        stream, intent = (
            connection.execute(select(table).where(table.c.tenant == tenant)).one()
            for table in (streams, intents)
        )
    assert (stream.seq, stream.writer_epoch, stream.finished) == (4, 1, None)
    assert (intent.state, intent.span_start, intent.span_end, intent.held_seq) == ("held", 2, 6, 3)


def test_two_writers_of_one_stream_both_get_in_without_a_gap(engine, tenant):
    ledgers = [other_process(engine), other_process(engine)]
    ledgers[0].append(tenant, KEY, these(opened()))
    start = Barrier(2)

    def write(ledger: Ledger) -> list[int]:
        start.wait()
        seqs = []
        for _ in range(25):
            appended = ledger.append(
                tenant, KEY, lambda state: Change((accepted(state.branches["main"].head, 1),))
            )
            seqs.append(appended.events[0].seq)
        return seqs

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(write, ledgers)
    assert sorted(first + second) == list(range(2, 52))
    events = ledgers[0].events(tenant, KEY, after=0, limit=100)
    assert [event.seq for event in events] == list(range(1, 52))
    # Each decision was taken on the state that it stands behind.
    assert [event.head_after for event in events[1:]] == list(range(1, 51))


def test_many_threads_of_one_ledger(ledger, tenant):
    ledger.append(tenant, KEY, these(opened()))

    def write(_number: int) -> None:
        ledger.append(tenant, KEY, lambda state: Change((accepted(state.branches["main"].head, 1),)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert ledger.read(tenant, KEY).branches["main"].head == 40


def test_two_openers_decide_again(engine, tenant):
    ledgers = [other_process(engine), other_process(engine)]
    start = Barrier(2)

    def open_once(ledger: Ledger) -> int:
        start.wait()
        return len(
            ledger.append(tenant, KEY, lambda state: Change(() if state.exists else (opened(),))).events
        )

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(open_once, ledgers)) == [0, 1]


def test_a_decision_that_raises_writes_nothing(ledger, engine, tenant):
    def refuse(_state):
        raise LookupError("no")

    with pytest.raises(LookupError):
        ledger.append(tenant, KEY, refuse)
    assert set(row_counts(engine, tenant).values()) == {0}


def test_a_side_row_that_fails_takes_the_events_with_it(ledger, engine, tenant):
    def broken(_state) -> str:
        raise LookupError("no answer")

    with pytest.raises(LookupError):
        ledger.append(
            tenant,
            KEY,
            lambda _: Change((opened(),), (BatchReplay(batch_id="b", body_digest=b"d", response=broken),)),
        )
    assert set(row_counts(engine, tenant).values()) == {0}
    assert ledger.read(tenant, KEY).seq == 0


def test_a_batch_keeps_its_answer(ledger, tenant):
    replay = BatchReplay(batch_id="b1", body_digest=b"digest", response=lambda state: f"seq {state.seq}")
    ledger.append(tenant, KEY, lambda _: Change((opened(),), (replay,)))
    stored = ledger.batch(tenant, KEY, "b1")
    assert (stored.body_digest, stored.response) == (b"digest", "seq 1")
    assert ledger.batch(tenant, KEY, "b2") is None
    with pytest.raises(BatchIdTaken):
        ledger.append(tenant, KEY, lambda _: Change((accepted(0, 1),), (replay,)))
    assert ledger.read(tenant, KEY).seq == 1


def test_side_rows_need_a_stream(ledger, tenant):
    with pytest.raises(ValueError, match="begins with an event"):
        ledger.append(
            tenant, KEY, lambda _: Change((), (BatchReplay(batch_id="b", body_digest=b"d", response="r"),))
        )


def test_side_rows_alone_are_decided_on_the_newest_state(ledger, engine, tenant):
    ledger.append(tenant, KEY, these(opened()))
    seen = []

    def decide(state):
        seen.append(state.seq)
        if len(seen) == 1:
            other_process(engine).append(tenant, KEY, these(accepted(0, 1)))
        return Change((), (BatchReplay(batch_id="b", body_digest=b"d", response="r"),))

    ledger.append(tenant, KEY, decide)
    assert seen == [1, 2]


@pytest.mark.parametrize("answer", ["refusal", "nothing"])
def test_what_writes_nothing_is_decided_on_the_newest_state_too(ledger, engine, tenant, answer):
    """Another process has moved the stream; the state remembered here would be refused, or need nothing."""
    ledger.append(tenant, KEY, these(opened()))
    other_process(engine).append(tenant, KEY, these(accepted(0, 1)))

    def decide(state):
        head = state.branches["main"].head
        if head == 1:
            return Change((accepted(1, 1),))
        if answer == "refusal":
            raise LookupError(head)
        return Change()

    assert [event.seq for event in ledger.append(tenant, KEY, decide).events] == [3]


def test_a_refusal_on_the_newest_state_is_final(ledger, tenant):
    ledger.append(tenant, KEY, these(opened()))
    asked = []

    def refuse(state):
        asked.append(state.seq)
        raise LookupError("no")

    with pytest.raises(LookupError):
        ledger.append(tenant, KEY, refuse)
    assert asked == [1]


def test_giving_up_is_an_error_of_its_own(engine, tenant):
    naps: list[float] = []
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC), sleep=naps.append, jitter=lambda: 1.0)
    rival = other_process(engine)
    rival.append(tenant, KEY, these(opened()))

    def always_late(state):
        head = state.branches["main"].head
        rival.append(tenant, KEY, these(accepted(head, 1)))
        return Change((accepted(head, 1),))

    with pytest.raises(AppendContention):
        ledger.append(tenant, KEY, always_late)
    assert len(naps) == 50
    assert max(naps) <= 0.05
    assert rival.read(tenant, KEY).seq == 51


def test_a_memory_that_the_database_does_not_hold_is_forgotten(ledger, owner, tenant):
    """As after a restore from a backup: what was remembered is ahead of the database."""
    ledger.append(tenant, KEY, these(opened(), accepted(0, 3)))
    with owner.begin() as connection:
        connection.execute(text("alter table ledger.events disable trigger all"))
        connection.execute(text("delete from ledger.events where seq = 2 and tenant = :t"), {"t": tenant})
        connection.execute(text("alter table ledger.events enable trigger all"))
        connection.execute(text("update ledger.streams set seq = 1 where tenant = :t"), {"t": tenant})
    appended = ledger.append(tenant, KEY, these(accepted(0, 1)))
    assert appended.events[0].seq == 2
    assert appended.state.branches["main"].head == 1


def test_a_database_that_is_away_is_said_to_be_away(tenant):
    engine = connect("postgresql://nobody@127.0.0.1:1/none")
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    with pytest.raises(LedgerUnavailable):
        ledger.append(tenant, KEY, these(opened()))
    with pytest.raises(LedgerUnavailable):
        ledger.events(tenant, KEY, 0, 1)
