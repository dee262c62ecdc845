"""The tasks of tau2-retail through the real gateway, over HTTP, with drafts that are wrong."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.postgres import TestDatabase
from tests.tau2 import retail
from tests.tau2.client import Client
from tests.tau2.evidence import effects_of, runs_in, voided_writes
from tests.tau2.replay import Replayed, replay
from tests.tau2.script import run_of
from tests.tau2.stage import Stage, stage
from tests.tau2.truth import problems

SEEDS = range(20) if retail.LONG else [1]
"""Odd ones send reads behind open WRITEs, which is where answers become stale."""
AT_LEAST = 20 // retail.STEP
"""Closed WRITE blocks voided, and reads sent again, that a seed must have provoked."""

pytestmark = pytest.mark.skipif(not retail.present(), reason=retail.ABSENT)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_log_holds_the_gold_writes_once_and_no_read_is_older_than_them(
    seed: int, database: TestDatabase, tmp_path: Path, report: Callable[[str], None]
) -> None:
    policy = "send" if seed % 2 else "hold"
    began = time.monotonic()
    with stage(tmp_path, database.service_url, "--seed", str(seed), poll_seconds="0.03") as running:
        replayed = asyncio.run(_replay(running, seed, policy))
        took = time.monotonic() - began
        wrong = problems(
            retail.replayed_tasks(),
            replayed.messages,
            running.log().refresh().effects,
            lambda t: run_of(t, seed),
        )
        code, findings = running.reconcile()
    runs, voided = runs_in(database.admin_url), voided_writes(replayed.views)
    report(
        f"tau2-retail seed {seed}, reads_behind_writes: {policy}: {len(retail.replayed_tasks())} tasks, "
        f"{len(replayed.views)} messages, accepted {dict(effects_of(replayed.views))}, {dict(replayed.counts)}, "
        f"closed WRITE blocks voided {voided}, {runs}, {took:.0f} s"
    )
    assert wrong == []
    assert (code, findings[:-1]) == (0, []), "\n".join(map(str, findings))
    assert voided >= AT_LEAST
    if policy == "send":
        assert runs.overtaken >= AT_LEAST
    else:
        # Rule 4 of the design: no read is sent while an earlier WRITE of its key is open, so none can be overtaken. What
        # is sent again here are answers that had become too old by the time that their block was cleared.
        assert (runs.ahead, runs.overtaken) == (0, 0)
        assert runs.outdated >= AT_LEAST


async def _replay(running: Stage, seed: int, policy: str) -> Replayed:
    table = retail.effect_table(
        running.origin, reads=policy, timeout="10s", max_age="150ms" if policy == "hold" else None
    )
    async with Client(lambda: running.url) as client:
        await client.post("/v1/effects", table)
        return await replay(client, retail.replayed_tasks(), seed)
