"""Sealing in the background of processes: it happens, it is taken over, it survives, it can be turned off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.metrics import Meter
from gateway.sealing import sealing, sign_now
from gateway.settings import Settings
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import VerifierKey
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from tests.gateway.sealing.story import Story, story, until
from tests.postgres import DatabaseServer, TestDatabase
from tests.processes import Process, dispatcher, gateway


@pytest.fixture
def told(database: TestDatabase) -> Iterator[Story]:
    with story(database) as made:
        yield made


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, seal_seconds=0.05, checkpoint_seconds=0.1)


def _kept(settings: Settings, story: Story) -> list[Checkpoint]:
    """What is published outside the database, each signed by the key that lies beside."""
    file = settings.checkpoints_folder / f"{LogReader(story.engine).state().log_id}.jsonl"
    key = VerifierKey.parse(settings.ledger_key_file.with_suffix(".pub").read_text(encoding="utf-8"))
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Checkpoint.parse(key.open(json.loads(line)["note"])) for line in lines]


def test_seals_signs_and_publishes(told: Story, settings: Settings) -> None:
    meter, reader = Meter(told.engine), LogReader(told.engine)
    with sealing(told.engine, settings, meter):
        told.write("one", "a", "b")
        until(lambda: reader.size() == 3)
        until(lambda: [kept.size for kept in _kept(settings, told)][-1:] == [3])
        assert not reader.pending().events
        told.write("two", "c")
    # What is committed by the end is sealed and signed by the end.
    sizes = [kept.size for kept in _kept(settings, told)]
    assert (reader.size(), sizes[-1]) == (5, 5)
    assert sizes == sorted(set(sizes))
    assert settings.ledger_key_file.stat().st_mode & 0o777 == 0o600
    assert "commitgate_sealed_events_total 5.0" in meter.text().decode()


def test_sealing_that_ends_waits_for_no_lease_to_run_out(told: Story, settings: Settings) -> None:
    with sealing(told.engine, settings):
        told.write("one", "a")
        until(lambda: LogReader(told.engine).size() == 2)
    told.write("two")
    assert Sealer(told.engine).round().events == 1


def test_signing_now_waited_for_a_sealer_that_was_gone_and_signed_without_what_waits(
    told: Story, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.sealing.OTHERS", 0.2)
    gone = Sealer(told.engine, lease_seconds=30)
    told.write("one", "a")
    assert gone.round().events == 2
    told.write("two", "b")
    assert sign_now(told.engine, settings).size == 4


def test_does_nothing_where_it_is_turned_off(told: Story, settings: Settings) -> None:
    with sealing(told.engine, settings.model_copy(update={"seal": False})):
        told.write("one", "a")
    assert LogReader(told.engine).size() == 0
    assert not settings.ledger_key_file.exists()


def test_waits_for_a_database_that_is_away(
    told: Story, settings: Settings, database: TestDatabase, database_server: DatabaseServer
) -> None:
    meter, reader = Meter(told.engine), LogReader(told.engine)
    with sealing(told.engine, settings, meter):
        told.write("one", "a")
        until(lambda: reader.size() == 2)
        with database_server.admin() as admin:
            admin.execute(f"alter database {database.name} allow_connections false")
            admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (database.name,)
            )
            until(lambda: "commitgate_sealing_errors_total{" in meter.text().decode())
            admin.execute(f"alter database {database.name} allow_connections true")
        told.write("two", "b")
        until(lambda: reader.size() == 4)
        until(lambda: [kept.size for kept in _kept(settings, told)][-1] == 4)


def test_goes_on_where_the_folder_for_checkpoints_is_away(told: Story, settings: Settings) -> None:
    settings.checkpoints_folder.write_text("a file where the folder should be")
    reader = LogReader(told.engine)
    with sealing(told.engine, settings):
        told.write("one", "a")
        until(lambda: reader.size() == 2)
        signed = reader.checkpoint
        until(lambda: (found := signed()) is not None and found.size == 2)
        settings.checkpoints_folder.unlink()
        told.write("two")
        until(lambda: bool(_kept(settings, told)) and _kept(settings, told)[-1].size == 3)


def _metrics(process: Process) -> dict[str, float]:
    families = text_string_to_metric_families(httpx2.get(process.ready["listening"] + "/metrics").text)
    return {
        sample.name: sample.value for family in families for sample in family.samples if not sample.labels
    }


def test_processes_take_turns_and_the_dead_are_replaced(
    told: Story, environ: dict[str, str], tmp_path: Path
) -> None:
    reader = LogReader(told.engine)
    with (
        gateway(tmp_path, environ, "--no-dispatch") as first,
        dispatcher(tmp_path, environ) as second,
        gateway(tmp_path, {**environ, "COMMITGATE_SEAL": "false"}, "--no-dispatch") as watching,
    ):
        told.write("one", "a", "b")
        until(lambda: reader.size() == 3)
        metrics = _metrics(watching)
        assert metrics["commitgate_log_size"] == 3
        assert metrics["commitgate_sealed_events_total"] == 0
        first.kill()
        told.write("two", "c")
        until(lambda: reader.size() == 5)
        assert second.end() == 0
        told.write("three")
        assert reader.size() == 5  # the one that is left does not seal
        feed = httpx2.get(watching.ready["listening"] + "/v1/ledger/events").json()
        assert [event["index"] for event in feed["events"]] == list(range(5))
        assert reader.pending().events == 1
        assert watching.end() == 0


def test_a_key_that_cannot_be_used_is_said_at_the_start(environ: dict[str, str], tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("nonsense")
    with pytest.raises(AssertionError, match="error: ledger_key_refused: "):
        gateway(tmp_path, {**environ, "COMMITGATE_LEDGER_KEY": str(key)}, "--no-dispatch")
