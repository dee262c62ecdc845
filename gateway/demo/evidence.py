"""Whether the ledger of a demonstration is what was sealed and signed for."""

import time
from dataclasses import dataclass

from sqlalchemy import Engine

from gateway.demo.errors import DemoFailed
from gateway.settings import Settings
from ledger.evidence.note import VerifierKey
from ledger.kept import kept_notes
from ledger.log.entries import StoredCheckpoint
from ledger.log.reader import LogReader
from ledger.selfcheck import check_database

PATIENCE = 30.0
"""Seconds in which the gateway has to seal and sign what is left."""

_LOOK = 0.1


@dataclass(frozen=True, slots=True)
class Evidence:
    """``events`` sealed, ``vouched`` of them covered by signed checkpoints; ``fault``: what is wrong, if anything is."""

    events: int
    vouched: int
    fault: str | None

    def to_json(self) -> dict[str, object]:
        """The members as JSON values."""
        return {"events": self.events, "vouched": self.vouched, "fault": self.fault}


def check_evidence(engine: Engine, settings: Settings) -> Evidence:
    """Wait until everything is sealed and signed, then verify it all. Raises ``DemoFailed`` where that does not happen."""
    reader = LogReader(engine)
    until = _signed(reader)
    key = VerifierKey.parse(settings.ledger_key_file.with_suffix(".pub").read_text(encoding="utf-8"))
    kept = kept_notes(settings.checkpoints_folder / f"{reader.state().log_id}.jsonl", key.name)
    found = check_database(engine, until, key, kept, lambda _events: None)
    fault = None if found.fault is None else f"{found.fault.code} at event {found.fault.index}"
    return Evidence(found.size, found.report.vouched, fault)


def _signed(reader: LogReader) -> StoredCheckpoint:
    """A checkpoint that covers everything which was committed when this was asked."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        # Nothing waits any more, so the size counts all: taken at two moments both would count what is sealed between them.
        if not reader.pending().events:
            goal, signed = reader.size(), reader.checkpoint()
            if signed is not None and signed.size >= goal:
                return signed
        time.sleep(_LOOK)
    raise DemoFailed(f"the gateway did not seal and sign everything within {PATIENCE:.0f} s")
