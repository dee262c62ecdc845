"""Two processes that begin to sign for a new log at the same moment."""

from pathlib import Path

import pytest

from gateway.sealing import notary_over, signing_key
from gateway.settings import Settings
from ledger.log.entries import StoredCheckpoint
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from tests.gateway.sealing.story import story
from tests.postgres import TestDatabase


def test_a_key_that_another_process_made_meanwhile_was_taken_for_a_lost_one(
    database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home=tmp_path)
    looks = LogReader.checkpoint
    with story(database) as told:
        told.write("one", "a")
        Sealer(told.engine).round()

        def signed_just_before(reader: LogReader) -> StoredCheckpoint | None:
            monkeypatch.setattr(LogReader, "checkpoint", looks)
            notary_over(told.engine, settings).publish()
            return looks(reader)

        monkeypatch.setattr(LogReader, "checkpoint", signed_just_before)
        key = signing_key(told.engine, settings)
        assert key.text() == settings.ledger_key_file.read_text(encoding="utf-8").strip()
