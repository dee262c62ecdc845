"""A COMMIT is ended while it waits for the standby: its rows can be read, and are on one machine alone."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from ledger.append import Ledger
from ledger.connect import connect
from tests.failover.servers import DATABASE, Fleet
from tests.gateway.toolserver import eventually
from tests.ledger.story import accepted, opened, these

WAITING = (
    "select max(pid) from pg_stat_activity where wait_event = 'SyncRep' and datname = current_database()"
)


@pytest.mark.parametrize("ending", ["pg_terminate_backend", "pg_cancel_backend"])
def test_what_no_standby_has_is_not_acknowledged(fleet: Fleet, ending: str) -> None:
    primary = fleet.primary()
    standby = fleet.add(primary.standby("standby"))
    primary.wait_for_standby()
    engine = connect(primary.database(DATABASE).service_url)
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    ledger.append("t", "k", these(opened()))
    standby.kill()
    with ThreadPoolExecutor(1) as pool:
        appended = pool.submit(ledger.append, "t", "k", these(accepted(0, 1)))
        eventually(lambda: primary.asked(WAITING, DATABASE))
        ended = primary.asked(WAITING, DATABASE)
        assert primary.asked(f"select {ending}({ended})", DATABASE)
        # It was found by a look-up, and said to be durable.
        eventually(lambda: appended.done() or primary.asked(WAITING, DATABASE) not in (None, ended))
        assert not appended.done()
        follow = f"host=127.0.0.1 port={primary.port} user=postgres application_name=standby"
        standby.start(primary_conninfo=follow)
        assert appended.result(30).state.seq == 2
    engine.dispose()
    standby.promote()
    assert standby.asked("select max(seq) from ledger.events where commit_key = 'k'", DATABASE) == 2
