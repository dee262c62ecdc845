"""Nothing is skipped, whoever holds what open: sealing goes by what is committed, and by nothing else."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from ledger.log.reader import LogReader
from ledger.log.sealer import STILL_ROUNDS, Sealer
from tests.ledger.log.planted import TENANT, check_log, marked, places, plant, raw, stand_still


def feed(reader: LogReader, after: int) -> tuple[list[tuple[str, int]], int]:
    """What a tailing reader gets behind ``after``, and where it stands then."""
    got = []
    while True:
        page = reader.events(after, 7)
        got += [(found.commit_key, found.event.seq) for found in page.events]
        after = page.after
        if not page.more:
            return got, after


def test_an_event_of_a_long_transaction_comes_after_it_commits_and_nothing_waits_for_it(
    engine: Engine, reader: LogReader
) -> None:
    sealer = Sealer(engine)
    with raw(engine) as slow, raw(engine) as quick:
        plant(slow, "slow", 1, 3)
        plant(quick, "quick", 1, 2)
        quick.commit()
        assert sealer.round().events == 2
        got, after = feed(reader, -1)
        assert got == [("quick", 1), ("quick", 2)]
        plant(quick, "quick", 3, 3)
        quick.commit()
        assert sealer.round().events == 1
        slow.commit()
        assert sealer.round().events == 3
    got, after = feed(reader, after)
    assert got == [("quick", 3), ("slow", 1), ("slow", 2), ("slow", 3)]
    assert feed(reader, after) == ([], after)
    assert check_log(engine) == 6


def test_a_transaction_that_goes_on_with_a_stream_does_not_hold_up_what_is_committed_of_it(
    engine: Engine,
) -> None:
    sealer = Sealer(engine)
    with raw(engine) as writer:
        plant(writer, "one", 1, 4)
        writer.commit()
        plant(writer, "one", 5, 6)
        assert sealer.round().events == 4
        # The stream is idle as far as anybody can see, and its row is held: the mark stays, without waiting.
        assert sealer.round().events == 0
        assert sealer.round().events == 0
        writer.commit()
        assert sealer.round().events == 2
    check_log(engine)


def test_naive_cursors_lose_the_event_of_the_long_transaction(engine: Engine, owner: Engine) -> None:
    """The negative control: a cursor over a number from a sequence, or over ``at``, never delivers it."""
    with owner.begin() as connection:
        connection.execute(
            text("create table naive (id bigserial, commit_key text, at timestamptz default now())")
        )
        connection.execute(text("grant all on naive, naive_id_seq to public"))
    take = "insert into naive (commit_key, at) values (%s, clock_timestamp())"
    with raw(engine) as slow, raw(engine) as quick, raw(engine) as auditor:
        slow.execute(take, ("slow",))
        quick.execute(take, ("quick",))
        quick.commit()
        auditor.autocommit = True
        seen = auditor.execute("select id, at, commit_key from naive order by id").fetchall()
        by_id, by_at = max(row[0] for row in seen), max(row[1] for row in seen)
        slow.commit()
        later = [
            auditor.execute("select commit_key from naive where id > %s", (by_id,)).fetchall(),
            auditor.execute("select commit_key from naive where at > %s", (by_at,)).fetchall(),
        ]
        assert [row[2] for row in seen] == ["quick"]
        assert later == [[], []]
        assert auditor.execute("select count(*) from naive").fetchone() == (2,)


def test_a_rolled_back_append_leaves_no_gap(engine: Engine) -> None:
    sealer = Sealer(engine)
    with raw(engine) as lost, raw(engine) as kept:
        plant(lost, "one", 1, 5)
        plant(kept, "two", 1, 1)
        kept.commit()
        sealer.round()
        lost.rollback()
        plant(kept, "one", 1, 2)
        kept.commit()
        assert sealer.round().events == 2
    assert places(engine) == [(0, "two", 1), (1, "one", 1), (2, "one", 2)]
    check_log(engine)


def test_a_session_idle_in_transaction_with_snapshot_and_xid_stops_nothing(engine: Engine) -> None:
    sealer = Sealer(engine)
    with raw(engine) as idle, raw(engine) as writer:
        idle.execute("set transaction isolation level repeatable read")
        idle.execute("select count(*) from ledger.events").fetchone()
        assert idle.execute("select pg_current_xact_id()::text").fetchone()
        for seq in range(1, 6):
            plant(writer, "one", seq, seq)
            writer.commit()
            assert sealer.round().events == 1
        stand_still(sealer)
        assert marked(engine) == []
        assert check_log(engine) == 5


def test_a_mark_goes_when_nothing_waits_and_comes_back_with_the_next_event(engine: Engine) -> None:
    sealer = Sealer(engine)
    with raw(engine) as writer:
        plant(writer, "one", 1, 1)
        plant(writer, "two", 1, 1)
        writer.commit()
        assert marked(engine) == ["one", "two"]
        assert sealer.round().events == 2
        # A stream that is written all the time keeps its mark, one that has stood still for some rounds loses it.
        for seq in range(2, STILL_ROUNDS + 1):
            assert marked(engine) == ["one", "two"]
            plant(writer, "two", seq, seq)
            writer.commit()
            assert sealer.round().events == 1
        assert marked(engine) == ["one", "two"]
        assert sealer.round().events == 0
        assert marked(engine) == ["two"]
        plant(writer, "one", 2, 2)
        writer.commit()
        assert sealer.round().events == 1
        stand_still(sealer)
        assert marked(engine) == []
    check_log(engine)


def test_a_held_row_keeps_its_own_mark_and_no_other(engine: Engine) -> None:
    sealer = Sealer(engine)
    keys = [f"k{number}" for number in range(9)]
    with raw(engine) as writer:
        for key in keys:
            plant(writer, key, 1, 1)
        writer.commit()
        plant(writer, "k4", 2, 2)
        assert sealer.round().events == len(keys)
        stand_still(sealer)
        assert marked(engine) == ["k4"]
        writer.rollback()
    stand_still(Sealer(engine, name=sealer.name))
    assert marked(engine) == []


def test_rounds_are_bounded_and_reach_everybody(engine: Engine) -> None:
    sealer = Sealer(engine, max_events=10, max_streams=3)
    with raw(engine) as writer:
        plant(writer, "long", 1, 45)
        for number in range(8):
            plant(writer, f"short{number}", 1, 2)
        writer.commit()
    rounds = []
    while sum(rounds) < 61:
        sealed = sealer.round()
        assert sealed.events <= 10
        rounds.append(sealed.events)
        assert sealed.more or sum(rounds) == 61
        assert len(rounds) < 30
    # The long stream never takes two rounds in a row while others wait.
    short_done = max(index for index, key, _ in places(engine) if key != "long")
    assert short_done < 60
    while sealer.round().more:
        pass
    check_log(engine)


def test_a_stream_whose_row_says_more_than_its_events_is_named_and_the_others_go_on(
    engine: Engine, owner: Engine
) -> None:
    sealer = Sealer(engine)
    with raw(engine) as writer:
        plant(writer, "good", 1, 2)
        plant(writer, "spoiled", 1, 2)
        writer.commit()
    with owner.begin() as connection:
        connection.execute(text("update ledger.streams set seq = 3 where commit_key = 'spoiled'"))
    sealed = sealer.round()
    assert sealed.events == 2
    assert [(name.tenant, name.commit_key) for name in sealed.broken] == [(TENANT, "spoiled")]
    with owner.begin() as connection:
        connection.execute(text("update ledger.streams set seq = 2 where commit_key = 'spoiled'"))
    assert sealer.round().events == 2
    check_log(engine)


def test_what_waits_is_known_also_where_nobody_seals(engine: Engine, reader: LogReader) -> None:
    assert (reader.pending().events, reader.pending().lag_seconds) == (0, 0.0)
    with raw(engine) as writer:
        minute_ago = writer.execute("select clock_timestamp() - interval '1 minute'").fetchone()
        assert minute_ago is not None
        plant(writer, "one", 1, 2, at=minute_ago[0])
        plant(writer, "two", 1, 1)
        writer.commit()
        writer.execute("update ledger.streams set unsealed = true")
        writer.commit()
        Sealer(engine).round()
        plant(writer, "one", 3, 5, at=minute_ago[0])
        writer.commit()
    pending = reader.pending()
    assert pending.events == 3
    assert 60 <= pending.lag_seconds < 120
    assert pending.oldest == minute_ago[0]
    sealed = Sealer(engine).round()
    assert not sealed.leading


def test_no_index_is_given_to_two_events(engine: Engine) -> None:
    """Not even by a faulty sealer: the database refuses the second."""
    with raw(engine) as writer:
        plant(writer, "one", 1, 2)
        writer.commit()
    Sealer(engine).round()
    twice = """
        insert into ledger.seals (shard, tenant, commit_key, first_seq, last_seq, first_index)
        select shard, tenant, 'other', 1, 1, first_index from ledger.seals limit 1
    """
    with pytest.raises(IntegrityError, match="seals_in_log_order"), engine.begin() as connection:
        connection.execute(text(twice))
