"""One process that appends: many streams, each waiting for its acknowledgement before its next window."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from queue import SimpleQueue

from bench.ingest.load import WINDOWS_A_STREAM, Decide, Windows, ending, opening
from gateway.collecting import collect_seldom
from ledger.append import Ledger
from ledger.change import Appended
from ledger.connect import connect
from ledger.log.running import Sealing
from ledger.log.sealer import Sealed, Sealer

SWITCH_INTERVAL = 0.001
"""Seconds after which a thread that computes lets another go on: the commit's answers are waited for beside it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one producer is to do. ``seconds`` are measured after ``warm_up``; ``seals``: it seals as a gateway does."""

    url: str
    tenant: str
    streams: int
    window: int
    seconds: float
    warm_up: float
    seed: int
    with_replays: bool
    seals: bool
    places: int
    single_tokens: bool = False


@dataclass(slots=True)
class Told:
    """What it did within its seconds. ``latencies``: seconds from submitting a window to its acknowledgement."""

    events: int = 0
    windows: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    error: str | None = None


def produce(job: Job, ready: Callable[[], object]) -> Told:
    """Run ``job``; ``ready`` is called before the first window and returns when all may begin."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    collect_seldom()
    engine = connect(job.url, application_name="bench")
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC), cached_streams=8192, places=job.places)
    told = Told()

    def note(sealed: Sealed) -> None:
        if sealed.leading:
            told.lags.append(sealed.lag_seconds)

    sealer = Sealer(engine)
    sealing = Sealing(sealer, on_round=note) if job.seals else None
    if sealing is not None:
        sealing.start()
    try:
        ready()
        _Run(job, ledger, told).run()
    finally:
        if sealing is not None:
            sealing.stop()
            # What is left must not be taken for lag of the next run.
            while sealer.round().events:
                pass
            sealer.resign()
        ledger.close()
        engine.dispose()
    return told


class _Run:
    def __init__(self, job: Job, ledger: Ledger, told: Told) -> None:
        self._job = job
        self._ledger = ledger
        self._told = told
        self._windows = Windows.made(job.window, job.seed, with_replays=job.with_replays)
        self._answers: SimpleQueue[tuple[int, float, Appended | BaseException]] = SimpleQueue()
        self._steps = [0] * job.streams
        self._messages = [0] * job.streams

    def run(self) -> None:
        """Keep every stream going until the time is over, then wait for what is under way."""
        for stream in range(self._job.streams):
            self._submit(stream)
        begin = time.monotonic() + self._job.warm_up
        end = begin + self._job.seconds
        under_way = self._job.streams
        cpu = None
        while under_way:
            stream, latency, appended = self._answers.get()
            if isinstance(appended, BaseException):
                raise appended
            now = time.monotonic()
            if begin <= now < end:
                cpu = time.process_time() if cpu is None else cpu
                self._note(appended, latency)
            if now < end:
                self._submit(stream)
            else:
                if self._told.cpu_seconds == 0.0 and cpu is not None:
                    self._told.cpu_seconds = time.process_time() - cpu
                under_way -= 1
        self._told.seconds = self._job.seconds

    def _note(self, appended: Appended, latency: float) -> None:
        self._told.events += len(appended.events)
        if len(appended.events) > 1:
            self._told.windows += 1
            self._told.latencies.append(latency)

    def _submit(self, stream: int) -> None:
        key = f"{self._job.seed}-{stream}-{self._messages[stream]}"
        decide = self._next(stream)
        at = time.monotonic()
        answered = self._answers.put
        self._ledger.append_then(
            self._job.tenant, key, decide, lambda outcome: answered((stream, time.monotonic() - at, outcome))
        )

    def _next(self, stream: int) -> Decide:
        step = self._steps[stream]
        self._steps[stream] = step + 1
        # First messages differ in length, so that not all streams begin and end at once.
        first = self._messages[stream] == 0
        length = WINDOWS_A_STREAM + (stream % WINDOWS_A_STREAM if first else 0)
        if step == 0:
            return opening()
        if step <= length:
            number = step + stream
            return self._windows.singles(number) if self._job.single_tokens else self._windows.window(number)
        self._steps[stream] = 0
        self._messages[stream] += 1
        return ending()
