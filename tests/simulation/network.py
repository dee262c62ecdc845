"""Tools behind a network that delays, loses, resets and answers late; each message has a world of its own."""

import asyncio
import contextvars
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from effects.classes import EffectClass
from effects.intent import BlockState, ResultStatus
from gateway.turn.dispatching import Assignment
from gateway.upstream.port import Answered, MaybeSent, NotSent, Reply
from ledger.events import EventType
from tests.equivalence.worlds import Setting, World
from tests.simulation.process import Process
from tests.simulation.store import Store
from tests.simulation.tables import PROBE


@dataclass
class Network:
    """``faults``: what the rule forbids, as it was seen at the tools. ``calm`` ends all losses."""

    store: Store
    setting: Setting
    chance: Random
    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    calm: bool = False

    def __post_init__(self) -> None:
        self.worlds: dict[str, World] = defaultdict(self.setting.begin)
        self.acts: Counter[str] = Counter()
        self.first_act: dict[str, datetime] = {}
        self._probed: set[str] = set()
        self._delays = self.chance.choice([(0.0, 0.2, 0.2, 3.0), (0.0, 0.2, 0.2, 3.0), (0.2, 0.2, 8.0)])
        self.under_way: Counter[str] = Counter()
        self._keys: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._answers: dict[str, object] = {}

    async def carry(self, call: Assignment, told: "asyncio.Future[Reply]") -> None:
        """As ``_sent``, of a call that its sender took for under way."""
        try:
            await self._sent(call, told)
        finally:
            self.under_way[call.intent_id] -= call.tool != PROBE

    async def _sent(self, call: Assignment, told: "asyncio.Future[Reply]") -> None:
        """One transmission, however long it takes; ``told`` learns what comes back, if anything does."""
        fate = 1.0 if self.calm else self.chance.random()
        loss = 0.2
        self._watch_class(call)
        if call.tool == PROBE:
            self.counts["probes sent"] += 1
            self._probed.add(call.intent_id)
            await self._carry(call, told, fate, loss)
            return
        if call.intent_id in self._probed:
            self.faults.append(f"{call.intent_id} was sent after it was probed")
        await self._carry(call, told, fate, loss)

    async def _carry(self, call: Assignment, told: "asyncio.Future[Reply]", fate: float, loss: float) -> None:
        """On its way, done, and on the way back."""
        chance = self.chance
        await asyncio.sleep(self._delay())
        if fate < 0.3 * loss:
            _tell(told, MaybeSent("connection_lost") if chance.random() < 0.5 else None)
            return
        content = self._log_of(call) if call.tool == PROBE else self._act(call)
        await asyncio.sleep(self._delay())
        if fate < loss:
            _tell(told, MaybeSent("connection_lost") if chance.random() < 0.5 else None)
        else:
            _tell(told, Answered(ResultStatus.OK, content))

    def _delay(self) -> float:
        longest = 0.2 if self.calm else self.chance.choice(self._delays)
        return self.chance.random() * longest

    def _log_of(self, call: Assignment) -> object:
        """How often the call in doubt acted; now and then the tool says something else."""
        if not self.calm and self.chance.random() < 0.1:
            return {"busy": True}
        return {"acts": self.acts[call.intent_id]}

    def _act(self, call: Assignment) -> object:
        self._watch(call)
        self.acts[call.intent_id] += 1
        self.first_act.setdefault(call.intent_id, self.store.at)
        key = call.idempotency_key if call.effect is EffectClass.IDEMPOTENT else None
        if key is not None and key in self._answers:
            self.counts["recognised by its key"] += 1
            return self._answers[key]
        content = self.worlds[call.commit_key].act(call.tool, json.loads(call.arguments_raw))
        if key is not None:
            self._answers[key] = content
        return content

    def _watch_class(self, call: Assignment) -> None:
        """As the call sets out: whoever raises a class raises none of what is on its way."""
        intent = self.store.read(call.commit_key).intents.get(call.intent_id)
        if call.tool != PROBE and intent is not None and intent.effect > call.effect:
            self.faults.append(f"{call.intent_id}, a {intent.effect}, was sent as a {call.effect}")

    def _watch(self, call: Assignment) -> None:
        """The rule, at the moment of the act."""
        intent = self.store.read(call.commit_key).intents.get(call.intent_id)
        recorded = any(
            event.type is EventType.DISPATCH_STARTED and event.intent_id == call.intent_id
            for event in self.store.events[call.commit_key]
        )
        if intent is None or not recorded:
            self.faults.append(f"{call.intent_id} was sent without a record before")
        reads = call.effect is EffectClass.READ_ONLY
        if not reads and (intent is None or intent.block is not BlockState.CLEARED):
            self.faults.append(f"{call.intent_id} had an effect before its block was accepted")
        if call.effect is EffectClass.WRITE and self.acts[call.intent_id]:
            self.faults.append(f"{call.intent_id}, a WRITE, was sent twice")
        if not reads:
            key = str(call.idempotency_key)
            if self._keys.setdefault(call.intent_id, key) != key:
                self.faults.append(f"{call.intent_id} was sent with two keys")
            if self._owners.setdefault(key, call.intent_id) != call.intent_id:
                self.faults.append(f"{call.intent_id} was sent with another call's key")


class Cable:
    """One process's way into the network, as an upstream of the product."""

    def __init__(self, process: Process, network: Network) -> None:
        self._process = process
        self._network = network

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        process, network = self._process, self._network
        loop = asyncio.get_running_loop()
        # From here on, for who stands still now sends when it goes on, whatever has been recorded meanwhile.
        network.under_way[call.intent_id] += call.tool != PROBE
        begins = False
        try:
            await self._stand_still()
            process.check()
            if not network.calm and network.chance.random() < 0.04:
                return NotSent("connect_failed")
            begins = True
        finally:
            network.under_way[call.intent_id] -= call.tool != PROBE and not begins
        told: asyncio.Future[Reply] = loop.create_future()
        # What is in the network outlives its sender.
        outside = contextvars.Context()
        outside.run(_keep, loop.create_task(network.carry(call, told), context=outside))
        try:
            async with asyncio.timeout(timeout):
                reply = await told
        except TimeoutError:
            reply = MaybeSent("timeout")
        await self._stand_still()
        return reply

    async def _stand_still(self) -> None:
        still = self._process.stalled_until - asyncio.get_running_loop().time()
        if still > 0:
            await asyncio.sleep(still)

    async def aclose(self) -> None:
        return None


_carried: set[asyncio.Task[None]] = set()


def _keep(task: asyncio.Task[None]) -> None:
    _carried.add(task)
    task.add_done_callback(_carried.discard)


def _tell(told: "asyncio.Future[Reply]", reply: Reply | None) -> None:
    if reply is not None and not told.done():
        told.set_result(reply)
