"""kill -9 of gateway and dispatchers during the replay: no WRITE twice, none lost silently."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.postgres import TestDatabase
from tests.tau2 import retail
from tests.tau2.client import Client
from tests.tau2.killing import Killer, Person
from tests.tau2.replay import Replayed, replay
from tests.tau2.script import run_of
from tests.tau2.stage import Stage, stage
from tests.tau2.truth import accepted, problems

SEED = 100
VICTIMS = 16
AT_LEAST = 10
"""Kills that must have fallen between ``dispatch.started`` and the outcome."""

SETTINGS = {
    "lease_seconds": "1",
    "lease_margin": "0.5",
    "sweep_seconds": "0.2",
    "poll_seconds": "0.03",
    "late_wait_seconds": "10",
}
pytestmark = [pytest.mark.long, pytest.mark.skipif(not retail.present(), reason=retail.ABSENT)]
"""What a crash leaves is tried at every fail point by tests/crash; here it is tried in the middle of real traffic."""


def test_killed_processes_do_nothing_twice_and_lose_nothing(
    database: TestDatabase, tmp_path: Path, report: Callable[[str], None]
) -> None:
    began = time.monotonic()
    slow = ("--slowest", "0.6", "--abandons", "0.5", "--seed", str(SEED))
    with stage(tmp_path, database.service_url, *slow, dispatchers=2, **SETTINGS) as running:
        replayed, killer, person, counts = asyncio.run(_kill_during_replay(running, database.admin_url))
        effects = running.log().refresh().effects
        _, doubts = running.run("doubt", "list")
        code, findings = running.reconcile()
    between = killer.kills.unanswered(database.admin_url)
    with_effect = [one for one, logged in between if logged and one.effect == "WRITE"]
    statuses = Counter(
        (intent.get("result") or {}).get("status")
        for told in replayed.messages.values()
        for call, intent in accepted(told)
        if call.writes
    )
    report(
        f"tau2-retail with kill -9: {killer.kills.dispatchers} dispatchers and {killer.kills.gateways} gateways killed, "
        f"{len(between)} between dispatch.started and the outcome, {len(with_effect)} of them with the effect in the "
        f"server's log; doubts resolved {dict(Counter('happened' if h else 'not happened' for h in person.resolved.values()))}; "
        f"WRITEs {dict(statuses)}, effects {len(effects)}; {dict(counts)}, {dict(replayed.counts)}; "
        f"{time.monotonic() - began:.0f} s"
    )
    assert problems(retail.tasks(), replayed.messages, effects, lambda t: run_of(t, SEED)) == []
    assert doubts == []
    assert (code, findings[:-1]) == (0, []), "\n".join(map(str, findings))
    assert len(between) >= AT_LEAST
    assert with_effect
    assert killer.kills.gateways
    assert replayed.counts["sent again"]
    assert replayed.counts["taken over"]
    assert len(person.resolved) >= len(with_effect)


async def _kill_during_replay(
    running: Stage, admin_url: str
) -> tuple[Replayed, Killer, Person, Counter[str]]:
    table = retail.effect_table(running.origin, reads="send", timeout="2s")
    async with Client(lambda: running.url) as client:
        await client.post("/v1/effects", table)
        killer, person = Killer(running, admin_url, Random(SEED)), Person(running, admin_url, client)
        async with asyncio.TaskGroup() as group:
            meanwhile = [group.create_task(person.run()), group.create_task(killer.run(VICTIMS))]
            replayed = await replay(client, retail.tasks(), SEED, takeovers=0.3)
            for task in meanwhile:
                task.cancel()
        return replayed, killer, person, client.counts
