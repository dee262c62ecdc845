"""Waiting until everything is sealed and signed."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.demo import evidence
from ledger.append import Ledger
from ledger.connect import connect
from ledger.evidence.note import SigningKey
from ledger.log.checkpoints import Notary
from ledger.log.entries import Pending
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from tests.ledger.story import opened, these
from tests.postgres import TestDatabase


def test_what_was_sealed_between_two_looks_was_counted_twice_and_waited_for(
    database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "PATIENCE", 5.0)
    engine = connect(database.service_url)
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    ledger.append("t", "k", these(opened()))

    class Busy(LogReader):
        """A sealer finishes right behind each look at what waits."""

        def pending(self) -> Pending:
            waiting = super().pending()
            Sealer(engine, lease_seconds=0.0).round()
            notary.publish()
            return waiting

    reader = Busy(engine)
    notary = Notary(engine, SigningKey.generate(reader.state().origin), tmp_path)
    assert evidence._signed(reader).size == reader.size() == 1
    ledger.close()
    engine.dispose()
