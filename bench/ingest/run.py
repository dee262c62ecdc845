"""One run: every arm several times, each time beside the floor of the rows that it wrote; medians."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from uuid import uuid4

from bench.ingest import peer, processes
from bench.ingest.arms import ACKNOWLEDGEMENT, BESIDE_PEER, Arm
from bench.ingest.floor import Floor, floor
from bench.ingest.producer import Job, Told
from bench.server import BenchServer

FLOOR_ROWS = 60_000
PEER_AIM = 4.0
PEER_PAYLOAD = b'{"round":0,"tokens":[{"drafter":"small","id":15166,"text":" please"}]}'
"""Of the size of a payload in the arm beside it."""
ACKNOWLEDGED_WITHIN = 0.030
ACKNOWLEDGED_COMMITS = 8


@dataclass(slots=True)
class Measured:
    """What the repetitions of one arm gave; lists hold one figure a repetition."""

    arm: Arm
    ratios: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    verdicts: list[float] = field(default_factory=list)
    cpu_a_window: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    worst_lags: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Result:
    """What a run gave."""

    arms: list[Measured]
    one_row_commit: float = 0.0
    row_bytes: float = 0.0
    peer_rates: list[float] = field(default_factory=list)


def run(
    server: BenchServer,
    arms: Sequence[Arm],
    *,
    seconds: float,
    repetitions: int,
    say: Callable[[str], None],
    with_peer: bool = True,
) -> Result:
    """Measure ``arms``; ``say`` is told how it goes."""
    result = Result([Measured(arm) for arm in arms])
    with floor(server.admin_url) as beside:
        for repetition in range(1, repetitions + 1):
            for measured in result.arms:
                say(f"repetition {repetition} of {repetitions}: {measured.arm.name}")
                rows = _measure(server, measured, beside, seconds)
            result.one_row_commit = beside.one_row_commit()
            result.row_bytes = sum(map(len, rows)) / len(rows)
            if with_peer:
                say(f"repetition {repetition} of {repetitions}: eventsourcing")
                result.peer_rates.append(peer.rate(server.admin_url, seconds, PEER_PAYLOAD))
    return result


def _measure(server: BenchServer, measured: Measured, beside: Floor, seconds: float) -> list[bytes]:
    arm = measured.arm
    tenant = f"bench-{uuid4().hex}"
    share = arm.streams // arm.processes
    jobs = [
        Job(
            url=server.service_url,
            tenant=tenant,
            streams=share,
            window=arm.window,
            seconds=seconds,
            warm_up=1.0,
            seed=number,
            with_replays=arm.with_replays,
            seals=True,
            places=arm.places,
            single_tokens=arm.single_tokens,
        )
        for number in range(arm.processes)
    ]
    told = processes.run(jobs)
    rows = beside.rows(tenant, FLOOR_ROWS)
    _note(measured, told, beside.rate(rows))
    return rows


def _note(measured: Measured, told: Sequence[Told], floor_rate: float) -> None:
    windows = sum(one.windows for one in told)
    rate = sum(one.events / one.seconds for one in told)
    latencies = sorted(latency for one in told for latency in one.latencies)
    measured.rates.append(rate)
    measured.floors.append(floor_rate)
    measured.ratios.append(rate / floor_rate)
    measured.verdicts.append(sum(one.windows / one.seconds for one in told) * measured.arm.window)
    measured.cpu_a_window.append(sum(one.cpu_seconds for one in told) / max(windows, 1))
    measured.p50.append(latencies[len(latencies) // 2])
    measured.p99.append(latencies[int(len(latencies) * 0.99)])
    measured.worst_lags.append(max((lag for one in told for lag in one.lags), default=0.0))


def figures(result: Result) -> list[dict[str, object]]:
    """The rows of the report: what was to be reached and what was."""
    rows = [_row(measured) for measured in result.arms]
    for measured in result.arms:
        if measured.arm.name == ACKNOWLEDGEMENT:
            bound = max(ACKNOWLEDGED_WITHIN, ACKNOWLEDGED_COMMITS * result.one_row_commit)
            p99 = median(measured.p99)
            rows.append(
                _figure("p99 of an acknowledgement, ms", p99 * 1e3, f"<= {bound * 1e3:.1f}", p99 <= bound)
            )
    if result.peer_rates:
        for measured in result.arms:
            if measured.arm.name == BESIDE_PEER:
                times = median(measured.rates) / median(result.peer_rates)
                rows.append(_figure("times eventsourcing", times, f">= {PEER_AIM}", times >= PEER_AIM))
    worst = max(lag for m in result.arms for lag in m.worst_lags)
    rows.append(_figure("worst sealing lag, s", worst, "< 1", worst < 1))
    return rows


def _row(measured: Measured) -> dict[str, object]:
    arm = measured.arm
    ratio = median(measured.ratios)
    reached = None if arm.aim is None else ratio >= arm.aim
    row = _figure(arm.name, ratio, "" if arm.aim is None else f">= {arm.aim}", reached)
    row |= {
        "events_s": round(median(measured.rates)),
        "floor_s": round(median(measured.floors)),
        "verdicts_s": round(median(measured.verdicts)),
        "cpu_us_window": round(median(measured.cpu_a_window) * 1e6, 1),
        "ack_p50_ms": round(median(measured.p50) * 1e3, 1),
        "ack_p99_ms": round(median(measured.p99) * 1e3, 1),
        "lag_s": round(max(measured.worst_lags), 2),
        "ratios": [round(r, 3) for r in measured.ratios],
    }
    return row


def _figure(name: str, value: float, aim: str, reached: bool | None) -> dict[str, object]:
    return {"figure": name, "value": round(value, 3), "aim": aim, "reached": reached}
