"""At most one WRITE dispatch per intent, also for two services that know nothing of each other.

Both find the WRITE unlicensed and grant it to themselves before the other commits; no gate stands between.
"""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from psycopg import errors
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import IntegrityError

from ledger.append import Ledger
from tests.ledger.story import KEY, drafted, held, opened, released, ruled, started, these

GRANT = text("""
    insert into ledger.dispatches (shard, tenant, commit_key, intent_id, attempt, branch, effect, once_key, worker,
        epoch, lease_until, started_seq, open)
    select shard, tenant, commit_key, intent_id, :attempt, branch, 'WRITE', intent_id, :worker, 1, now(), :seq, true
    from ledger.intents where tenant = :tenant
""")


@pytest.fixture
def cleared(ledger: Ledger, tenant: str) -> str:
    """A cleared WRITE of which two attempts are recorded as started, with no licence yet; its tenant."""
    ledger.append(tenant, KEY, these(opened(), drafted(0, 8), held(), ruled(0, 6, 6), released()))
    ledger.append(tenant, KEY, these(started(1), started(2)))
    return tenant


def grant(connection: Connection, tenant: str, attempt: int) -> None:
    connection.execute(
        GRANT, {"tenant": tenant, "attempt": attempt, "seq": 5 + attempt, "worker": f"w{attempt}"}
    )


def waits(engine: Engine, blocked: int) -> bool:
    with engine.connect() as connection:
        return bool(
            connection.execute(
                text("select cardinality(pg_blocking_pids(:pid)) > 0"), {"pid": blocked}
            ).scalar()
        )


@pytest.mark.parametrize("first_commits", [True, False])
def test_the_second_of_two_waits_for_the_first(engine, cleared, first_commits):
    with engine.connect() as first, engine.connect() as second, ThreadPoolExecutor(1) as pool:
        pid = second.connection.driver_connection.info.backend_pid
        grant(first, cleared, 1)
        running = pool.submit(grant, second, cleared, 2)
        while not waits(engine, pid):
            assert not wait([running], timeout=0.01).done, "the second did not wait for the first"
        if first_commits:
            first.commit()
            with pytest.raises(IntegrityError) as caught:
                running.result(timeout=30)
            assert isinstance(caught.value.orig, errors.UniqueViolation)
            assert caught.value.orig.diag.constraint_name == "dispatches_once"
        else:
            first.rollback()
            running.result(timeout=30)
            second.commit()
    with engine.connect() as connection:
        query = text("select worker from ledger.dispatches where tenant = :t")
        workers = connection.execute(query, {"t": cleared}).scalars().all()
    assert workers == (["w1"] if first_commits else ["w2"])
