"""The report of one run: circumstances, a row for each arm at each ratio, and what was to be reached."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import mean
from typing import Any

from bench.machine import circumstances
from bench.server import BenchServer
from bench.turns.arms import EARLY, HOLD
from bench.turns.messages import READS, WINDOW
from bench.turns.run import Cell, Plan, measured, rows
from bench.turns.tools import SPREAD

COLUMNS = (
    "ratio", "arm", "turns", "mean_ms", "p50_ms", "p95_ms", "saved", "early_used", "early_wasted", "early_stale",
    "anomalies",
)  # fmt: skip
FIGURES = ("figure", "value", "aim", "reached")
NEVER_SLOWER = 0.97
"""At least this speed, of that of holding everything, at every ratio."""


def report(server: BenchServer, plan: Plan, *, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure, and say what was reached. ``wrong``: the first anomalies in words."""
    about = circumstances()
    cells = measured(server, plan, say=say)
    about["turns"] = asdict(plan) | {"window": WINDOW, "reads": READS, "writes": 1, "latency_spread": SPREAD}
    return {
        "bench": "turns",
        **about,
        "rows": rows(cells),
        "figures": figures(cells),
        "wrong": [word for cell in cells for turn in cell.turns for word in turn.wrong][:20],
        "findings": {cell.tenant: dict(cell.summary.findings) for cell in cells if cell.summary.findings},
    }


def figures(cells: Sequence[Cell]) -> list[dict[str, object]]:
    """What was to be reached and what was."""
    speeds = [
        _mean(cells, HOLD.name, ratio) / _mean(cells, EARLY.name, ratio)
        for ratio in dict.fromkeys(cell.ratio for cell in cells)
    ]
    anomalies = sum(cell.anomalies for cell in cells)
    slowest = min(speeds)
    return [
        {
            "figure": "early reads, times the speed of holding, slowest ratio",
            "value": round(slowest, 3),
            "aim": f">= {NEVER_SLOWER}",
            "reached": slowest >= NEVER_SLOWER,
        },
        {"figure": "anomalies", "value": anomalies, "aim": "0", "reached": anomalies == 0},
    ]


def _mean(cells: Sequence[Cell], arm: str, ratio: float) -> float:
    return mean(
        turn.seconds for cell in cells if (cell.arm.name, cell.ratio) == (arm, ratio) for turn in cell.turns
    )
