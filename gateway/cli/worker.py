"""``commitgate worker``: a dispatcher alone. Nothing of HTTP is loaded, so it starts in half of the time."""

import signal
import threading
from typing import Annotated

import typer

from gateway import failpoints
from gateway.cli.output import write_line
from gateway.cli.staying import begin, watch
from gateway.database import database
from gateway.metrics import Meter
from gateway.running import dispatcher_over
from gateway.sealing import sealing
from gateway.settings import Settings
from gateway.upstream.mcp.definitions import Quarantine
from ledger.access.duty import Duty


def worker(
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Answer GET /metrics on this port of 127.0.0.1; 0: any free one."
        ),
    ] = None,
) -> None:
    """Run a dispatcher alone; run as many as you like."""
    settings = Settings()
    begin(settings, "commitgate-worker")
    needs = (Duty.DISPATCHER, *([Duty.SEALER] if settings.seal else []))
    with database(settings, "commitgate-worker", needs) as engine:
        failpoints.watch(engine)
        quarantine, meter = Quarantine(), Meter(engine)
        watch(meter, quarantine)
        running = dispatcher_over(engine, settings, quarantine, observer=meter.tally)
        ended = threading.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: ended.set())
        with sealing(engine, settings, meter), meter.serving(metrics_port) as metrics:
            running.start()
            shown = {} if metrics is None else {"metrics": metrics}
            write_line({"dispatching": running.worker_id, **shown})
            ended.wait()
            running.stop()
