"""A row that somebody holds keeps those waiting who want it, and nobody else."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic

import psycopg
import pytest
from sqlalchemy import event

from ledger.append import Change, Ledger
from ledger.connect import connect
from ledger.errors import LedgerUnavailable
from tests.ledger.group.gathering import until
from tests.ledger.story import accepted, opened, these
from tests.postgres import libpq

NEIGHBOURS = [f"neighbour-{number}" for number in range(4)]
HOLD = "select from ledger.streams where tenant = %s and commit_key = 'held' for update"
WAITING = (
    "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
)


def one_more(state):
    return Change((accepted(state.branches["main"].head, 1),))


@contextmanager
def holding(database, tenant) -> Iterator[psycopg.Connection]:
    with psycopg.connect(libpq(database.admin_url)) as connection:
        connection.execute(HOLD, [tenant])
        yield connection


def test_neighbours_of_a_held_row_go_on(module_database, ledger, tenant):
    """They waited ten seconds in its group, and again for each time that it was tried."""
    for key in ("held", *NEIGHBOURS):
        ledger.append(tenant, key, these(opened()))
    with (
        ThreadPoolExecutor(8) as pool,
        psycopg.connect(libpq(module_database.admin_url), autocommit=True) as admin,
    ):
        with holding(module_database, tenant):
            kept = pool.submit(ledger.append, tenant, "held", one_more)
            until(lambda: admin.execute(WAITING).fetchone() == (1,))
            begun = monotonic()
            for _ in range(20):
                list(pool.map(lambda key: ledger.append(tenant, key, one_more), NEIGHBOURS))
            assert monotonic() - begun < 5
            assert not kept.done()
        assert kept.result(30).state.branches["main"].head == 1
    assert {ledger.read(tenant, key).branches["main"].head for key in NEIGHBOURS} == {20}


def test_who_wants_a_row_that_is_not_let_go_is_told(module_database, tenant):
    engine = connect(module_database.service_url)
    event.listen(engine, "connect", lambda c, _record: (c.execute("set lock_timeout = '300ms'"), c.commit()))
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    ledger.append(tenant, "held", these(opened()))
    with holding(module_database, tenant), pytest.raises(LedgerUnavailable):
        ledger.append(tenant, "held", one_more)
    assert ledger.append(tenant, "held", one_more).state.branches["main"].head == 1
    engine.dispose()
