"""The report of one run: circumstances, figures, and how many were missed."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from bench.ingest import verifying
from bench.ingest.arms import Arm
from bench.ingest.run import figures, run
from bench.machine import circumstances
from bench.server import BenchServer

COLUMNS = (
    "figure", "value", "aim", "reached", "events_s", "floor_s", "verdicts_s", "cpu_us_window", "ack_p50_ms",
    "ack_p99_ms", "lag_s",
)  # fmt: skip


def measured(
    server: BenchServer,
    arms: Sequence[Arm],
    *,
    seconds: float,
    repetitions: int,
    with_peer: bool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Run the arms, then export what was written and verify it offline."""
    about = circumstances()
    if with_peer and find_spec("eventsourcing") is None:
        say("eventsourcing is not installed (pip install 'commitgate[bench]'): measured without the peer")
        with_peer = False
    result = run(server, arms, seconds=seconds, repetitions=repetitions, with_peer=with_peer, say=say)
    say("sealing, exporting and verifying what was written")
    rows = [*figures(result), *verifying.figures(server)]
    aims = [row for row in rows if row["reached"] is not None]
    return {
        "bench": "ingest",
        **about,
        "seconds": seconds,
        "repetitions": repetitions,
        "row_bytes": round(result.row_bytes),
        "one_row_commit_ms": round(result.one_row_commit * 1e3, 3),
        "peer_s": [round(rate) for rate in result.peer_rates],
        "figures": rows,
        "aims": len(aims),
        "missed": sum(not row["reached"] for row in aims),
    }
