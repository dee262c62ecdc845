"""How fast the views of schema audit answer: for one commit key, for one in a named shard, and for everything.

Run in a checkout as ``python -m bench.audit [--events N] [--limit SECONDS] [--json FILE]``; prints JSON. The streams are a
few generated ones, copied under other commit keys. A query for one commit key begins with a new connection, so its first
answer pays for planning and for reading the catalogue; the median of those after it is given beside. Scans read every
column of every row; one that takes longer than the limit is reported as null. The floor beside them reads every payload.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from statistics import median

import psycopg
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from bench.machine import circumstances
from bench.server import BenchServer, bench_server, libpq
from ledger.append import Ledger
from ledger.connect import connect

TENANT, LOGIN = "bench", "bench_auditor"
FLOOR = "select sum(length(payload)) from ledger.events"
VIEWS = (
    "tokens",
    "rulings",
    "intents",
    "dispatches",
    "timeline",
    "dispatched_vs_accepted",
    "early_reads",
    "doubts",
    "bindings",
    "effect_history",
)

Figures = dict[str, float | int | None]


def measured(
    server: BenchServer, *, events: int, limit: float, say: Callable[[str], None]
) -> dict[str, object]:
    """All figures. ``events``: how many the ledger is to hold; ``limit``: seconds for one scan."""
    machine = circumstances()
    streams, held = _fill(server, events)
    say(f"{held:,} events in {streams:,} streams")
    with psycopg.connect(libpq(server.admin_url), autocommit=True) as admin:
        admin.execute(f"create role {LOGIN} login in role commitgate_auditor")
        admin.execute("insert into ledger.auditors values (%s, %s)", (LOGIN, TENANT))
        floor = _seconds(admin, FLOOR)
    figures = {}
    for view in VIEWS:
        figures[view] = {**_of_one_key(server, view), **_scan(server, view, limit, floor)}
        say(f"{view}: {figures[view]}")
    about = {"events": held, "streams": streams, "scan_limit_s": limit, "floor_scan_s": round(floor, 3)}
    return {**machine, **about, "views": figures}


def _fill(server: BenchServer, events: int) -> tuple[int, int]:
    # Of a checkout alone: an installed package has no tests.
    bulk = import_module("tests.ledger.audit.bulk")
    engine = connect(server.service_url)
    bulk.originals(Ledger(engine, clock=lambda: datetime.now(UTC)), TENANT, 10, 120)
    engine.dispose()
    admin = create_engine(server.admin_url, poolclass=NullPool)
    with admin.begin() as connection:
        each = bulk.multiply(connection, TENANT, 0)
        copies = max(0, events // each - 1)
        held = bulk.multiply(connection, TENANT, copies)
    with admin.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("vacuum analyze ledger.events, ledger.dispatches")
    return 10 * (copies + 1), held


def _auditor(server: BenchServer) -> "psycopg.Connection[tuple[object, ...]]":
    connection = psycopg.connect(libpq(server.admin_url), autocommit=True, prepare_threshold=None)
    connection.execute(f"set session authorization {LOGIN}")
    return connection


def _of_one_key(server: BenchServer, view: str) -> Figures:
    query = f"select * from audit.{view} where commit_key = '{{}}'"
    sharded = f"{query} and shard = audit.shard('{TENANT}', '{{}}')"
    with _auditor(server) as connection:
        cold = _seconds(connection, query.format("copy-3-2"))
        warm = [_seconds(connection, query.format(f"copy-{n}-2")) for n in range(4, 15)]
        one = [_seconds(connection, sharded.format(f"copy-{n}-2", f"copy-{n}-2")) for n in range(4, 15)]
        rows = connection.execute(query.format("copy-3-2").encode()).rowcount
    return {
        "rows_of_a_key": rows,
        "first_ms": round(cold * 1000, 1),
        "key_ms": round(median(warm) * 1000, 1),
        "key_in_shard_ms": round(median(one) * 1000, 1),
    }


def _scan(server: BenchServer, view: str, limit: float, floor: float) -> Figures:
    with _auditor(server) as connection:
        connection.execute(f"set statement_timeout = {int(limit * 1000)}")
        try:
            taken = _seconds(connection, f"select count(*), sum(length(v::text)) from audit.{view} v")
        except psycopg.errors.QueryCanceled:
            return {"scan_s": None, "scan_to_floor": None}
    return {"scan_s": round(taken, 2), "scan_to_floor": round(taken / floor, 1)}


def _seconds(connection: "psycopg.Connection[tuple[object, ...]]", query: str) -> float:
    begun = time.perf_counter()
    connection.execute(query.encode()).fetchall()
    return time.perf_counter() - begun


def main() -> int:
    """Measure, print, and keep the result where asked."""
    parser = argparse.ArgumentParser(description="How fast the views of schema audit answer.")
    parser.add_argument("--events", type=int, default=1_000_000, help="events that the ledger is to hold")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one scan of a whole view")
    parser.add_argument("--json", type=Path, default=None, help="write the result here too")
    told = parser.parse_args()
    with bench_server() as server:
        result = measured(
            server, events=told.events, limit=told.limit, say=lambda line: print(line, file=sys.stderr)
        )
    text = json.dumps(result, indent=1)
    print(text)
    if told.json is not None:
        told.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
