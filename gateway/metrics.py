"""What a process tells Prometheus: what it sealed, and, asked at each scrape, how the ledger stands.

Each process has a registry of its own. What the database says is the same in every process; it is asked for at most once
a second, however often somebody scrapes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
    start_http_server,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from gateway.errors import Unavailable
from gateway.tally import Tally
from ledger.braking.pausing import Pauses
from ledger.braking.stops import Stops
from ledger.errors import LedgerError
from ledger.listing import OpenDoubts, count_awaiting_approval, open_doubts
from ledger.log.entries import Pending, StoredCheckpoint
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealed

FRESH = 1.0
"""Seconds for which an answer of the database is good."""

LOOPBACK = "127.0.0.1"

_ROUNDS = (1, 8, 64, 256, 1024, 4096, 20_000)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Standing:
    """How the ledger stands."""

    size: int
    pending: Pending
    checkpoint: StoredCheckpoint | None
    doubts: OpenDoubts
    paused: int
    stopped: int
    awaiting_approval: int


class LedgerCollector(Collector):
    """The ledger's metrics. They are missing while the database is away, but for the one that says so."""

    def __init__(self, engine: Engine, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._reader = LogReader(engine)
        self._monotonic = monotonic
        self._lock = Lock()
        self._asked: float | None = None
        self._standing: Standing | None = None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The metrics now."""
        with self._lock:
            now = self._monotonic()
            if self._asked is None or now - self._asked >= FRESH:
                self._standing = self._ask()
                self._asked = self._monotonic()
            standing = self._standing
        yield _gauge("commitgate_database_up", "1 if the database answers.", float(standing is not None))
        if standing is not None:
            yield from _families(standing)

    def _ask(self) -> Standing | None:
        try:
            return Standing(
                self._reader.size(),
                self._reader.pending(),
                self._reader.checkpoint(),
                open_doubts(self._engine),
                sum(map(len, Pauses(self._engine).all().values())),
                sum(map(len, Stops(self._engine).all().values())),
                count_awaiting_approval(self._engine),
            )
        except (LedgerError, SQLAlchemyError) as error:
            _log.warning("metrics_without_database", error=type(error).__name__)
            return None


class Meter:
    """The metrics of one process over ``engine``. ``sealed`` and ``failed`` are told by its sealing, ``tally`` by its ledgers."""

    def __init__(self, engine: Engine) -> None:
        self._registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._registry.register(LedgerCollector(engine))
        self.tally = Tally(self._registry)
        self._events = Counter(
            "commitgate_sealed_events", "Events that this process sealed.", registry=self._registry
        )
        self._rounds = Histogram(
            "commitgate_sealing_round_events",
            "Events of each sealing round of this process that found some.",
            buckets=_ROUNDS,
            registry=self._registry,
        )
        self._errors = Counter(
            "commitgate_sealing_errors",
            "Sealing rounds and checkpoints of this process that failed.",
            ("code",),
            registry=self._registry,
        )
        self._leads = Gauge(
            "commitgate_sealing_leads", "1 if this process seals at present.", registry=self._registry
        )

    def sealed(self, round_: Sealed) -> None:
        """A sealing round is over."""
        self._leads.set(round_.leading)
        if round_.events:
            self._events.inc(round_.events)
            self._rounds.observe(round_.events)

    def failed(self, error: Exception) -> None:
        """A sealing round or a checkpoint failed."""
        self._leads.set(0)
        code = error.code if isinstance(error, LedgerError) else type(error).__name__
        self._errors.labels(code).inc()

    def watch(self, name: str, told: str, value: Callable[[], float]) -> None:
        """Show ``value()`` as the gauge ``name``; ``told`` explains it."""
        Gauge(name, told, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format 0.0.4."""
        return generate_latest(self._registry)

    @contextmanager
    def serving(self, port: int | None) -> Iterator[str | None]:
        """Answer ``GET /metrics`` on loopback while the block runs; gives the address. ``port`` 0: any; None: do not.

        Raises Unavailable where the port cannot be had.
        """
        if port is None:
            yield None
            return
        try:
            server, thread = start_http_server(port, LOOPBACK, self._registry)
        except OSError as error:
            raise Unavailable(f"cannot listen on {LOOPBACK}:{port}: {error.strerror}") from error
        try:
            yield f"http://{LOOPBACK}:{server.server_port}/metrics"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _families(standing: Standing) -> Iterator[GaugeMetricFamily]:
    pending, signed = standing.pending, standing.checkpoint
    yield _gauge("commitgate_log_size", "Events in the sealed log.", standing.size)
    yield _gauge("commitgate_unsealed_events", "Events that are committed and not sealed.", pending.events)
    yield _gauge("commitgate_sealing_lag_seconds", "Age of the oldest event not sealed.", pending.lag_seconds)
    yield _gauge("commitgate_paused_tools", "Pauses of tools, of all tenants.", standing.paused)
    yield _gauge(
        "commitgate_speculation_stopped_tools", "Tools that send no read early at present.", standing.stopped
    )
    yield _gauge("commitgate_doubts_open", "Calls in doubt, of all tenants.", standing.doubts.count)
    yield _gauge(
        "commitgate_approvals_waiting",
        "Calls that wait for a person, of all tenants.",
        standing.awaiting_approval,
    )
    yield _gauge(
        "commitgate_oldest_doubt_age_seconds",
        "How long the oldest call in doubt has been so; 0 if there is none.",
        standing.doubts.oldest_seconds,
    )
    if signed is not None:
        yield _gauge("commitgate_checkpoint_size", "Events that the newest checkpoint covers.", signed.size)
        yield _gauge("commitgate_checkpoint_timestamp_seconds", "When it was signed.", signed.at.timestamp())


def _gauge(name: str, told: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, told, value=value)
