"""How fast an export is verified offline: one core, stored bytes, constant memory."""

import resource
import tempfile
import time
from pathlib import Path

from sqlalchemy import Engine

from bench.server import BenchServer
from ledger.connect import connect
from ledger.evidence import tiles
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.exportfile import ExportWriter
from ledger.evidence.note import SigningKey
from ledger.evidence.verify import verify
from ledger.log.places import transaction
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from ledger.log.store import tile_reader

EVENTS = 200_000
AIM = 60_000
MEBIBYTE = 1024


def figures(server: BenchServer) -> list[dict[str, object]]:
    """Seal what is left, sign, export at most ``EVENTS`` lines, verify them."""
    engine = connect(server.service_url, application_name="bench")
    with tempfile.TemporaryDirectory() as folder:
        key = _export(engine, Path(folder))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.process_time()
        with (Path(folder) / "export").open("rb") as lines:
            report = verify(lines, key.verifier())
        taken = time.process_time() - begin
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / MEBIBYTE
    engine.dispose()
    if not report.ok:
        raise RuntimeError(f"the export of the bench does not verify: {report.fault}")
    rate = report.events / taken
    return [
        {"figure": "offline verify, events/s a core", "value": round(rate), "aim": f">= {AIM}", "reached": rate >= AIM,
         "events": report.events, "streams": report.streams, "memory_grown_mib": round(grown, 1)},
    ]  # fmt: skip


def _export(engine: Engine, folder: Path) -> SigningKey:
    sealer = Sealer(engine, lease_seconds=0.1)
    while sealer.round().more:
        pass
    reader = LogReader(engine)
    state = reader.state()
    size = min(state.size, EVENTS)
    with transaction(engine) as connection:
        root = tiles.root(tile_reader(connection), size)
    key = SigningKey.generate(state.origin)
    note = key.sign(Checkpoint(state.origin, size, root).body())
    with (folder / "export").open("wb") as file:
        writer = ExportWriter(file, note)
        while writer.size < size:
            for entry in reader.entries(writer.size - 1, min(2000, size - writer.size)):
                if entry.envelope is None:
                    raise RuntimeError("an event of the bench is gone")
                writer.event(entry.leaf_hash, entry.envelope.encode(), entry.payload, entry.salt)
        writer.checkpoint(note)
    return key
