"""SIGKILL of every process of the server while threads append: what was acknowledged is there when it comes back."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, event

from ledger.append import Ledger
from ledger.connect import connect
from ledger.errors import LedgerError
from ledger.log.running import Sealing
from ledger.log.sealer import Sealer
from ledger.rebuild import check
from ledger.state import StreamState
from tests.failover.servers import DATABASE, Fleet, Server
from tests.gateway.dispatcher.floor import Clock
from tests.gateway.toolserver import eventually
from tests.ledger.log.planted import check_log
from tests.ledger.story import accepted, opened, these

TENANT = "crash"
THREADS = 4
AT_LEAST = 150
"""Appends that are acknowledged before each kill."""


class Ingest:
    """Threads that append to streams of their own until the server is gone. ``acked``: the last seq, by commit key."""

    def __init__(self, engine: Engine, kill: int) -> None:
        self._ledger = Ledger(engine, clock=Clock())
        self._names = [f"kill-{kill}-{thread}" for thread in range(THREADS)]
        self.acked: dict[str, int] = {}

    def until_killed(self, server: Server) -> None:
        threads = [threading.Thread(target=self._append, args=(name,)) for name in self._names]
        for thread in threads:
            thread.start()
        eventually(lambda: sum(self.acked.values()) >= AT_LEAST)
        server.kill()
        for thread in threads:
            thread.join()
        self._ledger.close()

    def _append(self, name: str) -> None:
        try:
            self.acked[name] = self._ledger.append(TENANT, name, these(opened())).state.seq
            while True:
                self.acked[name] = self._ledger.append(TENANT, name, one_more).state.seq
        except LedgerError:
            return


def one_more(state: StreamState) -> Any:
    return these(accepted(state.branches["main"].head, 1))(state)


def killed(
    server: Server, kills: int, make: Callable[[str], Engine]
) -> tuple[dict[str, int], dict[str, int]]:
    """Kill it that often in the middle of appends: (seqs that were acknowledged, seqs that are there)."""
    url, acked = server.database(DATABASE).service_url, {}
    for kill in range(kills):
        engine = make(url)
        ingest = Ingest(engine, kill)
        sealing = Sealing(Sealer(engine, lease_seconds=0.0), interval=0.02)
        sealing.start()
        ingest.until_killed(server)
        sealing.stop()
        acked |= ingest.acked
        engine.dispose()
        server.start()
    engine = connect(url)
    sealer = Sealer(engine, lease_seconds=0.0)
    while sealer.round().more:
        pass
    ledger = Ledger(engine, clock=Clock())
    there = {}
    for name in acked:
        seqs = [event.seq for event in ledger.events(TENANT, name, after=0, limit=1_000_000)]
        assert seqs == list(range(1, len(seqs) + 1)), f"{name} has gaps"
        there[name] = len(seqs)
    assert check_log(engine) == sum(there.values())
    assert list(check(engine)) == []
    ledger.close()
    engine.dispose()
    return acked, there


def lost(acked: dict[str, int], there: dict[str, int]) -> dict[str, int]:
    return {name: seq - there[name] for name, seq in acked.items() if there[name] < seq}


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.long)])
def test_what_was_acknowledged_is_there(fleet: Fleet, kills: int, report: Callable[[str], None]) -> None:
    acked, there = killed(fleet.primary(), kills, connect)
    assert lost(acked, there) == {}
    report(f"SIGKILL of the server: {kills} times, {sum(acked.values())} acknowledged appends, none lost")


def test_without_waiting_for_the_disk_it_is_not(fleet: Fleet, report: Callable[[str], None]) -> None:
    """The negative control: acknowledged before it is on disk, as no connection of the product does."""
    acked, there = killed(fleet.primary(wal_writer_delay="10s"), 1, careless)
    missing = sum(lost(acked, there).values())
    assert missing > 0
    report(
        f"SIGKILL with synchronous_commit off: {missing} of {sum(acked.values())} acknowledged appends lost"
    )


def careless(url: str) -> Engine:
    engine = connect(url)

    @event.listens_for(engine, "connect")
    def not_waiting(connection: Any, _record: object) -> None:
        connection.execute("set synchronous_commit = off")
        connection.commit()

    return engine
