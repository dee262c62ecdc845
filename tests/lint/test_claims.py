"""Claims with a limit never over-reach, and work without SKIP LOCKED (pgqueuer 761: a limit that slides down the backlog)."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from sqlalchemy import Engine

from ledger.append import Change, Ledger, Licence
from ledger.connect import connect
from ledger.events import EventType
from ledger.sharding import SHARDS, StreamName
from ledger.state import StreamState
from ledger.work import Work
from tests.ledger import story
from tests.postgres import TestDatabase

CLAIMERS, LIMIT, CALLS = 16, 5, 160
ALL = tuple(range(SHARDS))


@pytest.fixture
def engine(database: TestDatabase) -> Iterator[Engine]:
    engine = connect(database.service_url, pool_size=CLAIMERS)
    yield engine
    engine.dispose()


def backlog(ledger: Ledger) -> None:
    events = (story.opened(), story.drafted(0, 8), story.ruled(0, 8, 8), story.held(), story.released())
    with ThreadPoolExecutor(CLAIMERS) as pool:
        list(pool.map(lambda n: ledger.append("t", f"k{n}", story.these(*events)), range(CALLS)))


def claim(ledger: Ledger, stream: StreamName, worker: str, lease: float) -> bool:
    """Claim the stream's call unless somebody has; whether it is ours now."""

    def decide(state: StreamState) -> Change:
        if state.intents[story.INTENT].attempts:
            return Change()
        licence = Licence(
            intent_id=story.INTENT,
            attempt=1,
            branch="main",
            effect="WRITE",
            worker=worker,
            epoch=1,
            lease_seconds=lease,
            once_key="once",
        )
        return Change((story.started(),), (licence,))

    done = ledger.append(stream.tenant, stream.commit_key, decide)
    return any(event.type is EventType.DISPATCH_STARTED for event in done.events)


def test_sixteen_claimers_take_what_they_asked_for_and_everything_once(engine: Engine) -> None:
    ledgers = [Ledger(engine, clock=lambda: datetime.now(UTC)) for _ in range(4)]
    backlog(ledgers[0])
    work, start = Work(engine), Barrier(CLAIMERS)

    def run(number: int) -> tuple[list[int], list[StreamName]]:
        sizes, mine, after = [], [], 16 * number
        start.wait()
        while found := work.released(ALL, LIMIT, after=after):
            sizes.append(len(found))
            for call in found:
                if claim(ledgers[number % 4], call.stream, f"w{number}", 0.0):
                    mine.append(call.stream)
            after = found[-1].stream.shard
        return sizes, mine

    with ThreadPoolExecutor(CLAIMERS) as pool:
        done = list(pool.map(run, range(CLAIMERS)))
    assert max(size for sizes, _ in done for size in sizes) == LIMIT
    claimed = Counter(stream for _, mine in done for stream in mine)
    assert len(claimed) == CALLS
    assert set(claimed.values()) == {1}
    assert len([size for sizes, _ in done for size in sizes]) >= CALLS // LIMIT
    assert len(work.expired_leases(ALL, LIMIT)) == LIMIT
    assert len(work.idle_streams(ALL, timedelta(0), LIMIT)) <= LIMIT
