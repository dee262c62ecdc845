"""One run: how soon a released call begins, how many go through, and what other engines do on the same server."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from statistics import median
from typing import Any
from uuid import uuid4

from bench.dispatch import peers
from bench.dispatch.beside import ingest
from bench.dispatch.calls import Calls, table
from bench.dispatch.toolserver import serve
from bench.dispatch.worker import Post, dispatch
from bench.ingest.floor import floor
from bench.ingest.processes import run as produce
from bench.ingest.producer import Job
from bench.server import BenchServer
from gateway.principal import everyone
from gateway.wiring import utc_now, wire
from ledger.append import Ledger
from ledger.change import Appended
from ledger.connect import connect
from ledger.sharding import SHARDS

WINDOW = 48
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Sent:
    """Calls of one arm: how many a second began, and seconds from a durable release to the beginning."""

    rate: float
    p50: float
    p99: float
    ingested: float = 0.0


def measured(
    server: BenchServer, *, seconds: float, rate: float, with_peers: bool, say: Callable[[str], None]
) -> dict[str, object]:
    """Everything once; ``rate``: calls a second that are offered."""
    with floor(server.admin_url) as beside:
        commit = beside.one_row_commit()
        say("token events alone")
        job = Job(server.service_url, f"t-{uuid4().hex}", 256, WINDOW, seconds, 1.0, 1, False, True, 2)
        alone = produce([job])[0]
        windows = alone.windows / alone.seconds
        say("released to begun, one call at a time")
        single = _arm(server, dispatchers=1, rate=20.0, seconds=seconds, http=False, windows=0.0)
        say(f"{rate:.0f} calls a second offered, null upstream, token events beside")
        null = _arm(server, dispatchers=2, rate=rate, seconds=seconds, http=False, windows=windows / 2)
        say(f"{rate:.0f} calls a second offered, HTTP upstream, token events beside")
        http = _arm(server, dispatchers=2, rate=rate, seconds=seconds, http=True, windows=windows / 2)
        say("calls alone, as many as go")
        flat = _arm(server, dispatchers=2, rate=4 * rate, seconds=seconds, http=False, windows=0.0)
        commit = median([commit, beside.one_row_commit()])
    result: dict[str, Any] = {
        "one_row_commit": commit,
        "events_alone": alone.events / alone.seconds,
        "single": single,
        "null": null,
        "http": http,
        "flat": flat,
    }
    if with_peers:
        say("dbos")
        result["dbos_steps"] = peers.dbos_steps(server.admin_url, seconds)
        say("pgqueuer")
        result["pgqueuer_jobs"] = peers.pgqueuer_jobs(server.admin_url, seconds)
    return result


def _arm(
    server: BenchServer, *, dispatchers: int, rate: float, seconds: float, http: bool, windows: float
) -> Sent:
    engine = connect(server.service_url, application_name="bench-runtime")
    ledger = Ledger(engine, clock=utc_now, notify=True)
    try:
        with _processes(server, dispatchers, http, windows) as (url, workers, writer):
            wire(engine).tables.apply(everyone("default"), table(url))
            acked = _release(ledger, Calls.to(url), rate=rate, seconds=seconds)
            begun = _begun(workers, len(acked))
            ingested = 0.0 if writer is None else float(_told(writer))
        return _summary(acked, begun, ingested)
    finally:
        ledger.close()
        engine.dispose()


@contextmanager
def _processes(
    server: BenchServer, dispatchers: int, http: bool, windows: float
) -> Iterator[tuple[str, list[Connection], Connection | None]]:
    context = multiprocessing.get_context("spawn")
    running: list[Any] = []

    def start(target: Callable[..., None], *arguments: object) -> Connection:
        here, there = context.Pipe()
        process = context.Process(target=target, args=(*arguments, there), daemon=True)
        process.start()
        running.append(process)
        return here

    tools = start(serve) if http else None
    url = "http://127.0.0.1:9/book" if tools is None else f"http://127.0.0.1:{tools.recv()}/book"
    posts = [
        Post(server.service_url, tuple(s for s in range(SHARDS) if s % dispatchers == n), http)
        for n in range(dispatchers)
    ]
    workers = [start(dispatch, post) for post in posts]
    writer = start(ingest, server.service_url, WINDOW, windows) if windows else None
    for pipe in [*workers, *([writer] if writer is not None else [])]:
        pipe.recv()
    try:
        yield url, workers, writer
    finally:
        if tools is not None:
            tools.send("end")
        for process in running:
            process.join(10)
            if process.is_alive():
                process.terminate()


def _release(ledger: Ledger, calls: Calls, *, rate: float, seconds: float) -> dict[str, float]:
    """Release calls at ``rate``; when each was durable, by its commit key."""
    acked: dict[str, float] = {}
    told: SimpleQueue[None] = SimpleQueue()
    prefix = uuid4().hex
    count = int(rate * seconds)
    begin = time.monotonic()

    def note(key: str, future: Future[Appended]) -> None:
        future.result()
        acked[key] = time.monotonic()
        told.put(None)

    for number in range(count):
        time.sleep(max(0.0, begin + number / rate - time.monotonic()))
        key = f"{prefix}-{number}"
        future = ledger.submit("default", key, calls.released(number))
        future.add_done_callback(partial(note, key))
    for _ in range(count):
        told.get(timeout=PATIENCE)
    return acked


def _begun(workers: list[Connection], count: int) -> dict[str, float]:
    """When each call began, once all have, or once nothing more begins."""
    begun: dict[str, float] = {}
    for worker in workers:
        worker.send("drain")
    for worker in workers:
        begun |= worker.recv()
    if len(begun) < count:
        raise RuntimeError(f"{count - len(begun)} of {count} calls did not begin in time")
    return begun


def _told(pipe: Connection) -> Any:
    pipe.send("end")
    return pipe.recv()


def _summary(acked: dict[str, float], begun: dict[str, float], ingested: float) -> Sent:
    waits = sorted(begun[key] - at for key, at in acked.items())
    first, last = min(acked.values()), max(begun[key] for key in acked)
    return Sent(
        rate=len(acked) / max(last - first, 1e-9),
        p50=waits[len(waits) // 2],
        p99=waits[int(len(waits) * 0.99)],
        ingested=ingested,
    )


def figures(result: dict[str, Any]) -> list[dict[str, object]]:
    """The rows of the report."""
    commit, null, http = result["one_row_commit"], result["null"], result["http"]
    half = result["events_alone"] / 2
    rows = [
        _figure("released to begun, p50 in one-row commits", result["single"].p50 / commit, "<= 2.5", 2.5),
        _figure("released to begun, p50 ms", result["single"].p50 * 1e3, "", None),
        _figure("one-row commit, ms", commit * 1e3, "", None),
        _figure("null upstream, calls/s", null.rate, ">= 1000", 1000, more=True),
        _figure("null upstream, p99 ms", null.p99 * 1e3, "<= 50", 50),
        _figure("token events beside, share of half their rate", null.ingested / half, "", None),
        _figure("HTTP upstream, calls/s", http.rate, "", None),
        _figure("HTTP upstream, p99 ms", http.p99 * 1e3, "", None),
        _figure("calls alone, calls/s", result["flat"].rate, "", None),
    ]
    if "dbos_steps" in result:
        times = result["flat"].rate / result["dbos_steps"]
        rows += [
            _figure("times dbos' steps/s, calls alone", times, ">= 5", 5, more=True),
            _figure("dbos, steps/s", result["dbos_steps"], "", None),
            _figure("pgqueuer, jobs/s", result["pgqueuer_jobs"], "", None),
        ]
    return rows


def _figure(
    name: str, value: float, aim: str, bound: float | None, *, more: bool = False
) -> dict[str, object]:
    reached = None if bound is None else (value >= bound if more else value <= bound)
    return {"figure": name, "value": round(value, 3), "aim": aim, "reached": reached}
