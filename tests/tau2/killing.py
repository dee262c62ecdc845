"""kill -9 at chosen moments of a replay, and the person who then settles what is in doubt."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import httpx2
import psycopg

from tests.postgres import libpq
from tests.processes import Process
from tests.tau2.client import PAUSE, Client
from tests.tau2.log import Log
from tests.tau2.stage import Stage

GATEWAY_EVERY = 3
"""With every third dispatcher the gateway is killed too."""

_OPEN = "select commit_key, intent_id, attempt, worker, effect from ledger.dispatches where open"
_STILL_OPEN = "select from ledger.dispatches where open and intent_id = %s and attempt = %s"
_WORKER = "select worker from ledger.dispatches where intent_id = %s order by attempt desc limit 1"
_ANSWERED = """
select from ledger.events where type = 'dispatch.settled' and commit_key = %s and intent_id = %s and attempt = %s
"""


class Dispatch(NamedTuple):
    """An open dispatch."""

    commit_key: str
    intent_id: str
    attempt: int
    worker: str
    effect: str


@dataclass
class Kills:
    """``dispatchers``: killed in all. ``victims``: the dispatches that were open when theirs was dead, and whether their
    effect was in the server's log by then."""

    dispatchers: int = 0
    gateways: int = 0
    victims: list[tuple[Dispatch, bool]] = field(default_factory=list)

    def unanswered(self, admin_url: str) -> list[tuple[Dispatch, bool]]:
        """The victims of which the ledger never got an answer: the kill fell between the start and the outcome."""
        with psycopg.connect(libpq(admin_url)) as connection:
            return [
                (one, logged)
                for one, logged in self.victims
                if not connection.execute(_ANSWERED, (one.commit_key, one.intent_id, one.attempt)).fetchall()
            ]


class Killer:
    """Kills dispatchers in the middle of their calls, and the gateway in the middle of its requests, and begins them anew."""

    def __init__(self, stage: Stage, admin_url: str, random: Random) -> None:
        self._stage = stage
        self._url = libpq(admin_url)
        self._random = random
        self._log = stage.log()
        self.kills = Kills()

    async def run(self, victims: int) -> None:
        """Kill until that many calls were cut off."""
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            while len(self.kills.victims) < victims:
                chosen = await self._choose(connection, with_effect=len(self.kills.victims) % 2 == 0)
                if chosen is not None:
                    await self._kill(connection, *chosen)

    async def _choose(
        self, connection: psycopg.AsyncConnection[Any], *, with_effect: bool
    ) -> tuple[Dispatch, Process] | None:
        """An open dispatch whose process lives, and that process; with its effect in the server's log, if asked for."""
        living = {str(p.ready["dispatching"]): p for p in self._stage.dispatchers if p.alive}
        rows = [Dispatch(*row) for row in await (await connection.execute(_OPEN)).fetchall()]
        fitting = [row for row in rows if row.worker in living and (row.effect == "WRITE" or not with_effect)]
        if not fitting:
            await asyncio.sleep(PAUSE / 4)
            return None
        chosen = self._random.choice(fitting)
        while with_effect and not self._log.refresh().happened(chosen.intent_id):
            if not await self._open(connection, chosen):
                return None
            await asyncio.sleep(PAUSE / 4)
        return (chosen, living[chosen.worker]) if await self._open(connection, chosen) else None

    async def _open(self, connection: psycopg.AsyncConnection[Any], one: Dispatch) -> bool:
        found = await connection.execute(_STILL_OPEN, (one.intent_id, one.attempt))
        return await found.fetchone() is not None

    async def _kill(
        self, connection: psycopg.AsyncConnection[Any], victim: Dispatch, process: Process
    ) -> None:
        process.kill()
        self.kills.dispatchers += 1
        if await self._open(connection, victim):
            self.kills.victims.append((victim, self._log.refresh().happened(victim.intent_id)))
        anew: list[Callable[[], Process]] = [self._stage.new_dispatcher]
        if self.kills.dispatchers % GATEWAY_EVERY == 0:
            self._stage.gateway.kill()
            self.kills.gateways += 1
            anew.append(self._stage.new_gateway)
        await asyncio.gather(*map(asyncio.to_thread, anew))


class Person:
    """Settles doubts by what the server's log says, once nobody can act on them any more."""

    def __init__(self, stage: Stage, admin_url: str, client: Client) -> None:
        self._stage = stage
        self._url = libpq(admin_url)
        self._client = client
        self._log: Log = stage.log()
        self.resolved: dict[str, bool] = {}

    async def run(self) -> None:
        """Until cancelled."""
        async with (
            await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection,
            httpx2.AsyncClient(trust_env=False) as http,
        ):
            while True:
                for doubt in (await self._client.get("/v1/doubts"))["doubts"]:
                    if not await self._in_hand(connection, doubt["intent_id"]):
                        # What the dead dispatcher had sent is done, or given up, before this is answered.
                        (await http.get(f"{self._stage.origin}/idle", timeout=30)).raise_for_status()
                        await self._resolve(doubt)
                await asyncio.sleep(10 * PAUSE)

    async def _in_hand(self, connection: psycopg.AsyncConnection[Any], intent_id: str) -> bool:
        """Whether its dispatcher lives, and so may still hear the answer."""
        row = await (await connection.execute(_WORKER, (intent_id,))).fetchone()
        return row is not None and row[0] in {
            p.ready["dispatching"] for p in self._stage.dispatchers if p.alive
        }

    async def _resolve(self, doubt: dict[str, Any]) -> None:
        intent_id, key = str(doubt["intent_id"]), str(doubt["commit_key"])
        if intent_id in self.resolved:
            return
        happened = self._log.refresh().happened(intent_id)
        reason = "as the server's log says"
        if not self.resolved:  # the first by the command line, the others over HTTP
            verdict = "happened" if happened else "not-happened"
            command = ("doubt", "resolve", key, intent_id, "--as", verdict, "--reason", reason)
            await asyncio.to_thread(self._stage.run, *command)
        else:
            body = json.dumps({"as": "happened" if happened else "not_happened", "reason": reason}).encode()
            answer = await self._client.insist("POST", f"/v1/doubts/{key}/{intent_id}", body)
            assert answer.status == 200 or answer.code == "not_in_doubt", answer
        self.resolved[intent_id] = happened
