"""Whether appending stays as fast as the ledger grows: time per event, piece by piece."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import psycopg

from bench.ingest.producer import Job, produce
from bench.machine import circumstances
from bench.server import BenchServer, libpq

EVENTS_AN_APPEND = 100
SHORTEST = 0.2
"""Seconds of the first piece; each is twice as long as the one before until they are as long as is asked for, so that
the line begins at some ten thousand events."""

FLAT = 1.5
"""The last quarter may cost this many times the first; the machine alone moves figures that much."""


def measured(
    server: BenchServer, *, events: int, piece_seconds: float, say: Callable[[str], None]
) -> dict[str, Any]:
    """Append until the ledger holds ``events``; one point a piece of ``piece_seconds``, of less at the beginning."""
    about = circumstances()
    points: list[tuple[int, float]] = []
    held = 0
    piece = 0
    begin = time.monotonic()
    while held < events:
        seconds = min(piece_seconds, SHORTEST * 2**piece)
        job = Job(
            url=server.service_url,
            tenant="growth",
            streams=64,
            window=EVENTS_AN_APPEND,
            seconds=seconds,
            warm_up=min(0.5, seconds),
            seed=piece,
            with_replays=False,
            seals=True,
            places=2,
            single_tokens=True,
        )
        told = produce(job, lambda: None)
        held = _held(server)
        points.append((held, round(told.seconds / told.events * 1e6, 2)))
        piece += 1
        say(f"{held:,} events, {points[-1][1]} us an event, {time.monotonic() - begin:.0f} s")
    quarter = max(1, len(points) // 4)
    first = median(cost for _, cost in points[:quarter])
    last = median(cost for _, cost in points[-quarter:])
    return {
        "bench": "growth",
        **about,
        "events": held,
        "first_quarter_us": first,
        "last_quarter_us": last,
        "ratio": round(last / first, 3),
        "flat": last <= FLAT * first,
        "points": points,
    }


def _held(server: BenchServer) -> int:
    with psycopg.connect(libpq(server.admin_url)) as connection:
        row = connection.execute("select coalesce(sum(seq), 0)::bigint from ledger.streams").fetchone()
    return int(row[0]) if row else 0
