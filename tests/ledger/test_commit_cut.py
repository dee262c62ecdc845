"""The connection breaks around COMMIT: what was written is found out, and nothing is written twice."""

from collections.abc import Iterator
from datetime import UTC, datetime
from time import monotonic

import pytest
from sqlalchemy import Engine, make_url, text

from ledger.append import BatchReplay, Change, Ledger
from ledger.connect import connect
from ledger.errors import OutcomeUnknown
from tests.ledger.cutting import Cut, CuttingProxy
from tests.ledger.story import KEY, accepted, opened, these


@pytest.fixture
def proxy(module_database) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(make_url(module_database.service_url))
    yield proxy
    proxy.close()


@pytest.fixture
def proxied(proxy: CuttingProxy) -> Iterator[Engine]:
    engine = connect(proxy.url)
    yield engine
    engine.dispose()


def cut_off(engine: Engine, **options) -> Ledger:
    return Ledger(engine, clock=lambda: datetime.now(UTC), **options)


@pytest.fixture
def cut_ledger(proxied: Engine) -> Ledger:
    return cut_off(proxied)


class OneMore:
    """Accepts one more token, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, state):
        self.asked += 1
        return Change((accepted(state.branches["main"].head, 1),))


def someone_waits(engine: Engine) -> None:
    """Until a backend waits for a lock of another, which only the look-up does here."""
    deadline = monotonic() + 30
    query = text("select count(*) from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0")
    with engine.connect() as connection:
        while connection.execute(query).scalar_one() == 0:
            connection.rollback()
            assert monotonic() < deadline, "nobody looked the row up"


@pytest.mark.parametrize(
    ("cut", "asked"), [(Cut.BEFORE, 2), (Cut.AFTER, 1), (Cut.LATE_COMMIT, 1), (Cut.LATE_LOSS, 2)]
)
def test_one_event_whatever_becomes_of_the_commit(ledger, cut_ledger, proxy, owner, tenant, cut, asked):
    cut_ledger.append(tenant, KEY, these(opened()))
    one_more = OneMore()
    proxy.later = lambda: someone_waits(owner)
    proxy.arm(cut)
    appended = cut_ledger.append(tenant, KEY, one_more)
    assert (proxy.cuts, one_more.asked) == (1, asked)
    assert [event.seq for event in appended.events] == [2]
    assert tuple(ledger.events(tenant, KEY, after=1, limit=10)) == appended.events
    assert ledger.read(tenant, KEY) == appended.state


def test_somebody_elses_row_is_not_taken_for_ours(ledger, proxied, proxy, tenant):
    """Lost before COMMIT, and another writer takes the very seq: decided again behind it."""
    cut_off(proxied).append(tenant, KEY, these(opened()))

    def before_the_look_up(_seconds: float) -> None:
        if ledger.read(tenant, KEY).seq == 1:
            ledger.append(tenant, KEY, these(accepted(0, 1)))

    proxy.arm(Cut.BEFORE)
    appended = cut_off(proxied, sleep=before_the_look_up).append(tenant, KEY, OneMore())
    assert proxy.cuts == 1
    assert [event.seq for event in appended.events] == [3]
    assert ledger.read(tenant, KEY).branches["main"].head == 2


def test_side_rows_alone_cannot_be_looked_up(cut_ledger, proxy, tenant):
    cut_ledger.append(tenant, KEY, these(opened()))
    proxy.arm(Cut.AFTER)
    row = BatchReplay(batch_id="b", body_digest=b"d", response="r")
    with pytest.raises(OutcomeUnknown):
        cut_ledger.append(tenant, KEY, lambda _: Change((), (row,)))


def test_a_database_that_stays_away_leaves_it_open(proxied, proxy, tenant):
    cut_off(proxied).append(tenant, KEY, these(opened()))
    naps: list[float] = []
    proxy.arm(Cut.AWAY)
    with pytest.raises(OutcomeUnknown) as caught:
        cut_off(proxied, sleep=naps.append).append(tenant, KEY, OneMore())
    assert caught.value.code == "commit_outcome_unknown"
    assert naps == sorted(naps)
    assert len(naps) > 1
