"""What a sealer's login may write past the sealer: no place but the next ones, no checkpoint but of what is sealed."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from ledger.log.due import find_beyond
from ledger.log.sealer import LONGEST_LEASE, Sealer
from ledger.session import single
from ledger.sharding import StreamName
from tests.ledger.log.planted import TENANT, check_log, checkpoint, plant, raw

GROW = "update ledger.log set size = size + {}"
SEAL = "insert into ledger.seals select shard, tenant, commit_key, {}, {}, {} from ledger.streams where commit_key = 'two'"

TWICE = SEAL.format(1, 1, 3) + " union all " + SEAL.format(2, 4, 5).partition("ledger.seals ")[2]


@pytest.fixture
def sealed(engine: Engine) -> Engine:
    """Three events are sealed, three of another stream wait."""
    with raw(engine) as writer:
        plant(writer, "one", 1, 3)
        writer.commit()
        Sealer(engine, lease_seconds=0).round()
        plant(writer, "two", 1, 3)
        writer.commit()
    return engine


@pytest.mark.parametrize(
    "statements",
    [
        [SEAL.format(1, 3, 8_000_000_000_000_000_000)],
        [SEAL.format(1, 3, 3)],
        [GROW.format(3), SEAL.format(1, 3, 4)],
        [GROW.format(3), SEAL.format(1, 2, 3)],
        [GROW.format(3), SEAL.format(1, 3, 2)],
        [GROW.format(1), SEAL.format(1, 3, 1)],
        [GROW.format(4), TWICE],
    ],
)  # fmt: skip
def test_a_place_is_the_next_one_and_within_the_log(sealed: Engine, statements: list[str]) -> None:
    """A stream whose place lay beyond the log's end counted as sealed: no reader saw it, and every check was green."""
    with pytest.raises(DBAPIError, match="what is sealed follows"), sealed.begin() as connection:
        connection.exec_driver_sql("; ".join(statements))
    assert Sealer(sealed, lease_seconds=0).round().events == 3
    assert check_log(sealed) == 6


def test_a_place_beyond_the_end_that_is_there_all_the_same_is_found(sealed: Engine, owner: Engine) -> None:
    with single(sealed) as connection:
        assert find_beyond(connection) is None
    with owner.begin() as connection:
        connection.execute(text("alter table ledger.seals disable trigger seals_follow_the_log"))
        connection.execute(text(SEAL.format(1, 3, 10**15)))
        connection.execute(text("alter table ledger.seals enable always trigger seals_follow_the_log"))
    with single(sealed) as connection:
        assert find_beyond(connection) == StreamName.of(TENANT, "two")


@pytest.mark.parametrize(
    "row", ["9000000000000000000, 'rubbish'", "3, 'rubbish'", "3, E'commitgate/else\\n3\\n'"]
)
def test_a_checkpoint_is_of_this_log_and_of_what_is_sealed(sealed: Engine, row: str) -> None:
    """Rubbish under a large size was the newest for ever: proofs and exports ended, and no gateway began."""
    with pytest.raises(DBAPIError, match="a checkpoint is a note of this log"), sealed.begin() as connection:
        connection.execute(text(f"insert into ledger.checkpoints values ({row}, now())"))
    with pytest.raises(DBAPIError, match="a checkpoint is a note of this log"):
        checkpoint(sealed, 4)
    checkpoint(sealed, 3)


def test_a_lease_that_no_clock_of_ours_gave_holds_nobody_back(sealed: Engine) -> None:
    """A database's clock that was ahead for a moment left a lease, and nobody sealed until it ran out."""
    taken = (
        "update ledger.log set sealer = 'gone', lease_until = clock_timestamp() + make_interval(secs => {})"
    )
    with sealed.begin() as connection:
        connection.execute(text(taken.format(LONGEST_LEASE / 2)))
    assert not Sealer(sealed).round().leading
    with sealed.begin() as connection:
        connection.execute(text(taken.format(LONGEST_LEASE + 5)))
    assert Sealer(sealed).round().events == 3


def test_who_cannot_wait_seals_under_the_lease_of_another(sealed: Engine) -> None:
    other = Sealer(sealed, name="other", lease_seconds=LONGEST_LEASE)
    assert other.round().events == 3
    with raw(sealed) as writer:
        plant(writer, "two", 4, 5)
        writer.commit()
    assert not Sealer(sealed).round().leading
    assert Sealer(sealed).round(heeding=False).events == 2


def test_rows_that_promise_events_use_up_no_round(engine: Engine) -> None:
    """Each of them used up a whole round: behind three thousand a stream waited for more than a minute."""
    with raw(engine) as writer:
        for number in range(40):
            plant(writer, f"hollow-{number}", 1, 1)
        writer.execute("update ledger.streams set seq = 1000000")
        writer.execute("update ledger.streams set seq = 9223372036854775807 where commit_key = 'hollow-3'")
        for number in range(20):
            plant(writer, f"good-{number}", 1, 2)
        writer.commit()
    sealer = Sealer(engine, max_events=30)
    rounds = 0
    while sealer.round().size < 40:
        rounds += 1
        assert rounds < 6
    # Once around: what is hollow is passed over in each round.
    broken = {name.commit_key for _ in range(6) for name in sealer.round().broken}
    assert broken == {f"hollow-{number}" for number in range(40)}
