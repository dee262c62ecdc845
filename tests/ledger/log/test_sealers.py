"""Several sealers, dying sealers, sleeping sealers: no index twice, no gap, a round whole or not at all."""

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import Engine, text

from ledger.errors import LedgerUnavailable
from ledger.log import sealer as sealing
from ledger.log.sealer import Sealed, Sealer
from tests.ledger.log.planted import check_log, places, plant, raw
from tests.postgres import TestDatabase
from tests.processes import Process

DEADLINE = 60.0


def until(condition: Callable[[], bool]) -> None:
    """Poll ``condition`` until it holds; AssertionError after the deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def sealer_process(folder: Path, url: str, name: str, mode: str) -> Process:
    return Process([sys.executable, "-m", "tests.ledger.log.sealer_process", url, name, mode], folder, name)


def writer_process(folder: Path, url: str, number: int) -> Process:
    command = [sys.executable, "-m", "tests.ledger.log.writer_process", url, str(number), "4", "15"]
    return Process(command, folder, f"writer-{number}")


def test_two_sealers_at_once_give_no_index_twice(engine: Engine) -> None:
    sealers = [Sealer(engine, name=name, lease_seconds=0.0) for name in ("a", "b", "c")]
    start = Barrier(4)

    def seal(sealer: Sealer) -> list[Sealed]:
        start.wait()
        return [sealer.round() for _ in range(60)]

    def write() -> None:
        with raw(engine) as writer:
            start.wait()
            for number in range(119):
                plant(writer, f"s{number % 5}", number // 5 + 1, number // 5 + 1)
                writer.commit()

    with ThreadPoolExecutor(4) as pool:
        writing = pool.submit(write)
        rounds = [sealed for result in pool.map(seal, sealers) for sealed in result]
        writing.result()
    Sealer(engine, lease_seconds=0.0, name="a").round()
    assert sum(sealed.leading for sealed in rounds) > 0
    assert check_log(engine) == 119


def test_whoever_does_not_hold_the_lease_leaves_sealing_alone(engine: Engine) -> None:
    first, second = Sealer(engine, name="first", lease_seconds=3600), Sealer(engine, name="second")
    with raw(engine) as writer:
        plant(writer, "one", 1, 1)
        writer.commit()
        assert first.round().leading
        plant(writer, "one", 2, 2)
        writer.commit()
        standing_by = second.round()
        assert (standing_by.leading, standing_by.events) == (False, 0)
        assert first.round().events == 1
    check_log(engine)


def test_whoever_resigns_is_followed_at_once_and_only_from_its_own_lease(engine: Engine) -> None:
    first, second = Sealer(engine, name="first", lease_seconds=3600), Sealer(engine, name="second")
    with raw(engine) as writer:
        plant(writer, "one", 1, 1)
        writer.commit()
        assert first.round().leading
        plant(writer, "one", 2, 2)
        writer.commit()
        second.resign()
        assert not second.round().leading
        first.resign()
        assert second.round().events == 1
        with engine.connect() as elsewhere:
            # A round under way holds the row: whoever resigns does not wait for it.
            elsewhere.execute(text("select from ledger.log for update"))
            second.resign()
        assert not first.round().leading
    check_log(engine)


def test_a_sealer_that_lost_its_lease_and_wakes_up_goes_on_from_where_the_log_is(engine: Engine) -> None:
    sleeper = Sealer(engine, name="sleeper", lease_seconds=0.0)
    other = Sealer(engine, name="other", lease_seconds=0.0)
    with raw(engine) as writer:
        plant(writer, "one", 1, 300)
        writer.commit()
        assert sleeper.round().events == 300
        plant(writer, "one", 301, 650)
        writer.commit()
        assert other.round().events == 350
        plant(writer, "one", 651, 700)
        writer.commit()
        # What it remembers of the tree is 350 leaves old.
        woken = sleeper.round()
        assert (woken.first_index, woken.events, woken.size) == (650, 50, 700)
    check_log(engine)


def test_a_sealer_that_is_cut_off_in_the_middle_of_a_round_has_done_nothing(
    engine: Engine, owner: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the server does to one that sleeps too long inside a round: its session is ended."""
    sealer = Sealer(engine, name="cut", lease_seconds=0.0)
    with raw(engine) as writer:
        plant(writer, "one", 1, 300)
        writer.commit()
    moved_edge = sealing.moved_edge

    def cut(*arguments: object) -> object:
        with owner.begin() as connection:
            connection.execute(
                text(
                    "select pg_terminate_backend(l.pid) from pg_locks l where l.relation = 'ledger.log'::regclass"
                    " and l.pid <> pg_backend_pid()"
                )
            )
        return moved_edge(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(sealing, "moved_edge", cut)
    with pytest.raises(LedgerUnavailable):
        sealer.round()
    monkeypatch.undo()
    assert places(engine) == []
    sealed = sealer.round()
    assert (sealed.first_index, sealed.size) == (0, 300)
    check_log(engine)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGSTOP])
def test_a_sealer_that_dies_or_freezes_in_the_middle_of_a_round(
    engine: Engine, database: TestDatabase, tmp_path: Path, ending: signal.Signals
) -> None:
    with raw(engine) as writer:
        plant(writer, "one", 1, 20)
        writer.commit()
        Sealer(engine, name="before", lease_seconds=0.0).round()
        plant(writer, "one", 21, 300)
        plant(writer, "two", 1, 3)
        writer.commit()
    with sealer_process(tmp_path, database.service_url, "stuck", "stuck") as stuck:
        other = Sealer(engine, name="other")
        # The round under way holds the row: nobody else seals, and nobody sees anything of it.
        assert not other.round().leading
        assert len(places(engine)) == 20
        os.kill(stuck.pid, ending)
        # Killed: its connection is gone. Frozen: the server ends a transaction that stands idle.
        sealed: list[Sealed] = []

        def sealed_by_other() -> bool:
            sealed.append(other.round())
            return sealed[-1].leading

        until(sealed_by_other)
        assert (sealed[-1].first_index, sealed[-1].events) == (20, 283)
    assert check_log(engine) == 303


def test_every_event_of_several_writers_gets_one_index_while_sealers_come_and_go(
    engine: Engine, database: TestDatabase, tmp_path: Path
) -> None:
    url = database.service_url
    sealer = sealer_process(tmp_path, url, "sealer", "rounds")
    rival = sealer_process(tmp_path, url, "rival", "rounds")
    writers = [writer_process(tmp_path, url, number) for number in range(3)]
    try:
        for half in (60, 180):
            until(lambda half=half: len(places(engine)) > half or not any(w.alive for w in writers))
            sealer.kill()
            sealer = sealer_process(tmp_path, url, "sealer", "rounds")
        until(lambda: not any(writer.alive for writer in writers))
    finally:
        for process in (sealer, rival, *writers):
            process.kill()
    last = Sealer(engine, name="last", lease_seconds=0.0)
    until(lambda: last.round().leading)
    while last.round().more:
        pass
    # Three writers, 15 times, one event to each of four shared and four own streams.
    assert check_log(engine) == 3 * 15 * 8
