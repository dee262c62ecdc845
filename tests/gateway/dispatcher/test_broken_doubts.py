"""The prober over doubts of which some are in streams that cannot be decided."""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.dispatcher.probing import LOOKED_AGAIN, Prober
from gateway.dispatcher.settings import DispatcherSettings
from ledger.sharding import StreamName
from ledger.work import Doubt


class Rows:
    """Doubts in the order in which the database has them, until they are claimed."""

    def __init__(self, *keys: str) -> None:
        self.left = [Doubt(StreamName.of("default", key), "int_1", 1) for key in keys]
        self.claimed: dict[str, float] = {}

    def doubts(self, _shards: object, limit: int) -> list[Doubt]:
        return self.left[:limit]

    def claim_doubt(self, doubt: Doubt, seconds: float) -> bool:
        self.left.remove(doubt)
        self.claimed[doubt.stream.commit_key] = seconds
        return True


class Decisions:
    """Takes every decision but those on broken streams."""

    async def ask(self, question: Any, *args: Any) -> Any:
        return question(*args)

    async def decide(self, stream: StreamName, _decide: object) -> None:
        if stream.commit_key.startswith("broken"):
            raise KeyError("what no fold can take")


async def _free(_tenant: str, _tool: str) -> bool:
    return False


def test_doubts_that_cannot_be_decided_once_took_the_places_of_all_others() -> None:
    rows = Rows("broken-1", "broken-2", "good")
    prober = Prober(
        Decisions(),  # type: ignore[arg-type]
        rows,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        DispatcherSettings(probes_at_once=2),
        worker="w",
        sleep=asyncio.sleep,
        found_work=lambda: None,
        paused=_free,
    )
    for _ in range(3):
        asyncio.run(prober.once())
    assert "good" in rows.claimed
    assert rows.claimed["broken-1"] == LOOKED_AGAIN
