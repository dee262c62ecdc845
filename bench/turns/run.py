"""One run: for each ratio of latency to message time the same messages in every arm, arms side by side."""

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median

from bench.server import BenchServer
from bench.turns.arms import ARMS, EARLY, Arm, table
from bench.turns.dispatching import dispatch
from bench.turns.judging import judged, split
from bench.turns.messages import message
from bench.turns.playing import Answers, Turn, play
from bench.turns.tools import Pace, serve
from gateway.principal import Principal, everyone
from gateway.wiring import Wired, wire
from ledger.connect import connect
from ledger.reconcile.summary import Summary

RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Median tool latency over message time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``messages``: of each arm at each ratio; ``at_once``: turns under way. ``latency``: median seconds of a tool.
    ``rejected``: share of the calls that are drafted wrongly."""

    messages: int = 40
    at_once: int = 2
    latency: float = 0.2
    rejected: float = 0.3
    ratios: Sequence[float] = RATIOS
    seed: int = 1


@dataclass(slots=True)
class Cell:
    """One arm at one ratio."""

    ratio: float
    arm: Arm
    tenant: str
    turns: list[Turn] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)

    @property
    def anomalies(self) -> int:
        """Wrong answers, and findings of the reconciliation with the tools' log."""
        return sum(len(turn.wrong) for turn in self.turns) + sum(self.summary.findings.values())


def measured(server: BenchServer, plan: Plan, *, say: Callable[[str], None]) -> list[Cell]:
    """Play every cell, then hold what the ledger says against what the tools were sent."""
    cells = [
        Cell(ratio, arm, f"r{r}-a{a}") for r, ratio in enumerate(plan.ratios) for a, arm in enumerate(ARMS)
    ]
    with tempfile.TemporaryDirectory(prefix="commitgate-turns-") as folder:
        log = Path(folder) / "tools.jsonl"
        with _tools(Pace(plan.seed, plan.latency), log) as origin, _gateway(server) as (wired, answers):
            warm = Cell(1.0, EARLY, "warm")
            for cell in (*cells, warm):
                wired.tables.apply(everyone(cell.tenant), table(cell.arm, origin))
            # Connections, caches and what is loaded late are those of a gateway that runs for a while.
            _play([warm], replace(plan, messages=plan.at_once), wired, answers)
            for ratio in plan.ratios:
                say(f"latency {ratio} of the message time: {plan.latency / ratio * 1e3:.0f} ms a message")
                _play([cell for cell in cells if cell.ratio == ratio], plan, wired, answers)
        _judge(server, cells, log)
    return cells


def _judge(server: BenchServer, cells: Sequence[Cell], log: Path) -> None:
    engine = connect(server.service_url, application_name="bench-turns")
    logs = split(log)
    for cell in cells:
        cell.summary = judged(engine, cell.tenant, logs[cell.tenant])
    engine.dispose()


def _play(cells: Sequence[Cell], plan: Plan, wired: Wired, answers: Answers) -> None:
    """The same message in one arm after the other, so that all arms meet the same machine."""

    def turn(number: int, cell: Cell) -> Turn:
        rejected = 0.0 if cell.arm.perfect else plan.rejected
        what = message(number, cell.tenant, seed=plan.seed, rejected=rejected)
        caller: Principal = everyone(cell.tenant)
        key = f"{cell.tenant}:{number}"
        return play(wired, answers, caller, key, what, cell.arm, plan.latency / cell.ratio)

    with ThreadPoolExecutor(plan.at_once, thread_name_prefix="turn") as threads:
        begun = [
            (cell, threads.submit(turn, number, cell)) for number in range(plan.messages) for cell in cells
        ]
        for cell, future in begun:
            cell.turns.append(future.result())


@contextmanager
def _gateway(server: BenchServer) -> Iterator[tuple[Wired, Answers]]:
    """The services, with a dispatcher beside them in a process of its own."""
    engine = connect(server.service_url, application_name="bench-turns")
    with _process(dispatch, server.service_url):
        wired = wire(engine, notify=True)
        answers = Answers(wired)
        try:
            yield wired, answers
        finally:
            answers.close()
            wired.ledger.close()
    engine.dispose()


@contextmanager
def _tools(pace: Pace, log: Path) -> Iterator[str]:
    with _process(serve, pace, log) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _process(work: Callable[..., None], *arguments: object) -> Iterator[object]:
    """Give what the process says once it is ready; in the end it is told to end, and awaited."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(*arguments, there), daemon=True)
    process.start()
    try:
        yield here.recv()
        here.send("end")
        here.recv()
    finally:
        process.join(5)
        if process.is_alive():
            process.terminate()
            process.join()


def rows(cells: Sequence[Cell]) -> list[dict[str, object]]:
    """A row for each arm at each ratio; ``saved``: share of the mean turn of holding everything."""
    return [_row(cell, _beside(cells, cell.ratio)) for cell in cells]


def _row(cell: Cell, holding: Cell) -> dict[str, object]:
    seconds = sorted(turn.seconds for turn in cell.turns)
    held = mean(turn.seconds for turn in holding.turns)
    return {
        "ratio": cell.ratio,
        "arm": cell.arm.name,
        "turns": len(seconds),
        "mean_ms": round(mean(seconds) * 1e3, 1),
        "p50_ms": round(median(seconds) * 1e3, 1),
        "p95_ms": round(seconds[int(len(seconds) * 0.95)] * 1e3, 1),
        "saved": round(1 - mean(seconds) / held, 4),
        "early_used": cell.summary.early_used,
        "early_wasted": cell.summary.early_wasted,
        "early_stale": cell.summary.early_stale,
        "anomalies": cell.anomalies,
    }


def _beside(cells: Sequence[Cell], ratio: float) -> Cell:
    """The cell of holding everything."""
    return next(cell for cell in cells if cell.ratio == ratio and cell.arm.name == "hold everything")
