"""The sweep over streams of which some cannot be decided."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.sweep import Sweep
from ledger.sharding import StreamName
from ledger.work import ExpiredLease

BATCH = 2


class Rows:
    """Rows in the order in which the database has them: always the same."""

    def __init__(self, leases: list[ExpiredLease]) -> None:
        self.leases = leases

    def expired_leases(self, _shards: object, limit: int) -> list[ExpiredLease]:
        return self.leases[:limit]

    def due_retries(self, *_: object) -> list[StreamName]:
        return []

    def idle_streams(self, *_: object) -> list[StreamName]:
        return []


class Decisions:
    """Takes every decision but those on broken streams."""

    now = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.seized: list[str] = []
        self.tried: Counter[str] = Counter()

    async def ask(self, question: Any, *args: Any) -> Any:
        return question(*args)

    async def decide(self, stream: StreamName, _decide: object) -> None:
        self.tried[stream.commit_key] += 1
        if stream.commit_key.startswith("broken"):
            raise KeyError("what no fold can take")
        self.seized.append(stream.commit_key)
        self.rows.leases = [lease for lease in self.rows.leases if lease.stream != stream]


def lease(key: str) -> ExpiredLease:
    return ExpiredLease(StreamName.of("default", key), "int_1", 1, 1)


def test_broken_streams_once_kept_every_lease_behind_them_from_being_swept() -> None:
    seconds = [0.0]
    rows = Rows([lease("broken-1"), lease("broken-2"), lease("broken-3"), lease("good")])
    decisions = Decisions(rows)
    sweep = Sweep(
        decisions,  # type: ignore[arg-type]
        rows,  # type: ignore[arg-type]
        DispatcherSettings(sweep_batch=BATCH),
        sleep=asyncio.sleep,
        found_work=lambda: None,
        monotonic=lambda: seconds[0],
    )

    async def rounds() -> None:
        for _ in range(8):
            await sweep.once()
            seconds[0] += 1.0

    asyncio.run(rounds())
    assert decisions.seized == ["good"]
    # In eight rounds a second apart: at 0, 1, 2 and 4, each pause twice as long as the last.
    assert (decisions.tried["broken-1"], decisions.tried["good"]) == (4, 1)
