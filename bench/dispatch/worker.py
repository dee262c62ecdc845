"""A dispatcher in a process of its own."""

import time
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection

from bench.dispatch.nullupstream import Watched
from gateway.collecting import collect_seldom
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.worker import Dispatcher
from gateway.logs import configure_logs
from gateway.service.tables import EffectTables
from gateway.switching import switch_soon
from gateway.upstream.http import HttpUpstream
from gateway.wiring import utc_now
from ledger.append import Ledger
from ledger.connect import connect
from ledger.listen import Listener
from ledger.work import Work

SILENCE = 3.0
"""Seconds without a call after which everything that was released has begun."""

DISPATCHED = DispatcherSettings(poll_interval=0.2, concurrency=128)


@dataclass(frozen=True, slots=True)
class Post:
    """Where a dispatcher stands: which database, which shards, and whether real HTTP requests are sent."""

    url: str
    shards: tuple[int, ...]
    http: bool


def dispatch(post: Post, pipe: Connection) -> None:
    """Dispatch until the pipe says so and nothing more begins; then tell when each call began."""
    configure_logs("warning")
    collect_seldom()
    switch_soon()
    engine = connect(post.url, application_name="bench-dispatcher")
    ledger = Ledger(engine, clock=utc_now, notify=True)
    upstream = Watched(HttpUpstream() if post.http else None)
    settings = DispatcherSettings(
        poll_interval=DISPATCHED.poll_interval, concurrency=DISPATCHED.concurrency, shards=post.shards
    )
    dispatcher = Dispatcher(
        ledger,
        Work(engine),
        EffectTables(ledger, utc_now),
        upstream,
        settings,
        utc_now,
        hearing=partial(Listener, engine),
    )
    dispatcher.start()
    pipe.send("dispatching")
    pipe.recv()
    seen = -1
    while seen < len(upstream.begun):
        seen = len(upstream.begun)
        time.sleep(SILENCE)
    dispatcher.stop(5)
    pipe.send(upstream.begun)
    ledger.close()
    engine.dispose()
