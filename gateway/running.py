"""Dispatchers of a running process, made from its settings."""

from contextlib import nullcontext
from functools import partial

from sqlalchemy import Engine

from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.spans import DispatchSpans
from gateway.dispatcher.witness import WitnessFile
from gateway.dispatcher.worker import Dispatcher, Hearing
from gateway.service.brakes import KnownBrakes
from gateway.service.tables import EffectTables
from gateway.settings import Settings
from gateway.upstream.callables.adapter import CallablesUpstream
from gateway.upstream.http import HttpUpstream
from gateway.upstream.mcp.definitions import Quarantine
from gateway.upstream.port import Upstream
from gateway.upstream.postgres.adapter import PostgresUpstream
from gateway.upstream.routing import Later, Routes
from gateway.wiring import utc_now
from ledger.append import Ledger
from ledger.listen import Listener
from ledger.observing import NOBODY, Observer
from ledger.work import Work

WITNESS_FOLDER = "databases"
"""Where in the home dispatchers keep what they saw last of each database."""


def dispatcher_over(
    engine: Engine, settings: Settings, quarantine: Quarantine | None = None, *, observer: Observer = NOBODY
) -> Dispatcher:
    """A dispatcher over ``engine`` that sends to every kind of upstream; not started yet.

    ``quarantine`` learns which tools of MCP servers it does not call because their definition changed. ``observer``: told
    of what it writes.
    """
    ledger = Ledger(engine, clock=utc_now, notify=settings.notify, observer=observer)
    hearing: Hearing = partial(Listener, engine) if settings.notify else nullcontext
    return Dispatcher(
        ledger,
        Work(engine),
        EffectTables(ledger, utc_now, KnownBrakes(engine, utc_now).of),
        upstreams(settings, quarantine or Quarantine(), engine),
        DispatcherSettings(
            lease_floor=settings.lease_seconds,
            lease_margin=settings.lease_margin,
            poll_interval=settings.poll_interval,
            sweep_interval=settings.sweep_seconds,
            idle_timeout=settings.idle_timeout,
            late_wait=settings.late_wait_seconds,
            concurrency=settings.concurrency,
        ),
        utc_now,
        hearing=hearing,
        witness=WitnessFile(settings.home / WITNESS_FOLDER),
        spans=DispatchSpans(content=settings.trace_content),
        local=settings.local,
    )


def upstreams(settings: Settings, quarantine: Quarantine, engine: Engine) -> Routes:
    """Every kind of upstream that there is; ``engine``: the database in which statements run."""

    def mcp() -> Upstream:
        # Loaded when a call needs it: the SDK takes a second.
        from gateway.upstream.mcp.adapter import McpUpstream

        return McpUpstream(quarantine, secrets=settings.secrets)

    adapters: dict[str, Upstream] = {
        "http": HttpUpstream(secrets=settings.secrets),
        "mcp": Later(mcp),
        "python": CallablesUpstream(secrets=settings.secrets),
        "postgres": PostgresUpstream(engine),
    }
    return Routes(adapters, settings.local)
