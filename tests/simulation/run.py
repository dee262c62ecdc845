"""One seed: messages, gateways, dispatchers, a person and a network, in virtual time, with a schedule of crashes."""

import asyncio
import contextvars
import json
import logging
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, TypeVar, cast

import structlog

from effects.intent import IntentState
from effects.table import EffectTable
from gateway import failpoints
from gateway.dispatcher.leases import Lease
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.worker import Dispatcher
from gateway.errors import GatewayError
from gateway.service.approvals import Approvals
from gateway.service.doubts import Doubts
from gateway.service.streams import Streams
from gateway.service.tables import EffectTables
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from ledger.append import Ledger
from ledger.braking.schema import EVERY_TOOL
from ledger.errors import LedgerError
from ledger.state import Intent
from ledger.work import Work
from tests.equivalence.simulation import draw_message
from tests.equivalence.worlds import BANK, FILES, Setting
from tests.simulation.judge import judged
from tests.simulation.loop import VirtualLoop
from tests.simulation.network import Cable, Network
from tests.simulation.process import CURRENT, Fates, Killed, Process
from tests.simulation.store import Store
from tests.simulation.writer import WHO, Writer

T = TypeVar("T")
TROUBLE, HORIZON = 30.0, 600.0
"""Virtual seconds of crashes and losses, and until everything has to be over."""

_SETTINGS = DispatcherSettings(
    lease_floor=3.5,
    lease_margin=1.0,
    poll_interval=1.0,
    sweep_interval=2.0,
    idle_timeout=15.0,
    late_wait=5.0,
    tries=4,
    retry_pause=0.5,
    grace=1.0,
    concurrency=8,
)


@dataclass
class Told:
    """What came of a seed: ``faults`` (none), what was provoked, and the story where it was asked for."""

    seed: int
    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    story: list[str] = field(default_factory=list)


class _Points:
    """The product's fail points, met by whichever process is running."""

    def meet(self, point: failpoints.FailPoint) -> None:
        process = CURRENT.get(None)
        if process is not None:
            process.meet(point)


class Simulation:
    """Everything of one seed."""

    def __init__(self, seed: int, *, tell: bool = False) -> None:
        self.told = Told(seed)
        self._tell = tell
        self._random = Random(seed)
        self._threads = self._stream("threads")
        self._loop = VirtualLoop(lambda: 0.05 * self._threads.random())
        self._setting: Setting = self._random.choice([FILES, BANK])
        self.store = Store(self._loop.time)
        self.fates = Fates(self._stream("fates"), self._say)
        self.network = Network(self.store, self._setting, self._stream("network"))
        self._numbers = Counter[str]()
        self._ended = False
        self._gateways = [self._new_gateway() for _ in range(2)]
        self._tasks: list[asyncio.Task[None]] = []
        self._put_in_force()
        self.writers = [
            Writer(
                f"turn-{n}",
                draw_message(self._random, self._setting),
                self.store,
                self._stream(f"writer {n}"),
                self._ask,
            )
            for n in range(self._random.choice([1, 2, 2]))
        ]

    def _stream(self, name: str) -> Random:
        return Random(zlib.crc32(name.encode()) ^ self._random.getrandbits(48))

    def _say(self, line: str) -> None:
        if self._tell:
            self.told.story.append(f"{self._loop.time():8.3f}  {line}")

    def run(self) -> Told:
        asyncio.set_event_loop(self._loop)
        before = failpoints._armed
        failpoints._armed = cast("Any", _Points())
        try:
            self._loop.run_until_complete(self._whole())
        finally:
            failpoints._armed = before
            self._end()
            asyncio.set_event_loop(None)
            self._loop.close()
        self.told.faults += self.network.faults
        self.told.counts += self.network.counts
        for writer in self.writers:
            self.told.faults += judged(self.store, writer, self._setting, self.network, self.told.counts)
        return self.told

    def _end(self) -> None:
        """Nobody starts again, and nothing is left."""
        self.fates.over()
        self._ended = True
        while tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.wait(tasks))

    async def _whole(self) -> None:
        writing = [asyncio.create_task(writer.run()) for writer in self.writers]
        for number in range(self._random.choice([1, 2, 2])):
            self._new_dispatcher(f"dispatcher-{number}")
        self._tasks += [asyncio.create_task(self._person()), asyncio.create_task(self._operator())]
        while self._loop.time() < TROUBLE and not (all(task.done() for task in writing) and self._over()):
            await asyncio.sleep(1.0)
        self.fates.over()
        self.network.calm = True
        await asyncio.gather(*writing)
        while not self._over():
            if self._loop.time() > HORIZON:
                self.told.faults.append("it never rests")
                return
            await asyncio.sleep(1.0)

    def _over(self) -> bool:
        return all(
            state.finished is not None and all(intent.terminal for intent in state.intents.values())
            for state in (self.store.read(writer.commit_key) for writer in self.writers)
        )

    # Gateways

    def _new_gateway(self) -> tuple[Process, Streams, Doubts, Approvals]:
        process = self._process("gateway", lambda: None)
        process.stands_still = False
        ledger, tables = cast("Ledger", process), cast("EffectTables", process)
        clock = lambda: self.store.at  # noqa: E731
        nothing = cast("Any", None)
        return (
            process,
            Streams(ledger, tables, BlockScanner(), clock),
            Doubts(nothing, ledger, tables, clock),
            Approvals(nothing, ledger, tables, clock),
        )

    def _process(self, kind: str, on_death: Callable[[], None]) -> Process:
        self._numbers[kind] += 1
        name = f"{kind}/{self._numbers[kind]}"
        return Process(name, self.store, self._stream(name), self.fates, on_death)

    def _ask(self, ask: Callable[[Streams], T]) -> T:
        return self._at_gateway(lambda gateway: ask(gateway[1]))

    def _at_gateway(self, ask: Callable[[Any], T]) -> T:
        """Whichever gateway is asked, and another in place of one that dies over it."""
        place = self._random.randrange(len(self._gateways))
        gateway = self._gateways[place]
        token = CURRENT.set(gateway[0])
        try:
            return ask(gateway)
        except Killed:
            self.told.counts["gateways killed"] += 1
            self._gateways[place] = self._new_gateway()
            raise
        finally:
            CURRENT.reset(token)

    # Dispatchers

    def _new_dispatcher(self, name: str) -> None:
        if self._ended:
            return

        def gone() -> None:
            self.told.counts["dispatchers killed"] += 1
            self._loop.call_soon(main.cancel)
            self._loop.call_later(self._random.uniform(0.1, 6), self._new_dispatcher, name)

        process = self._process(name, gone)
        dispatcher = Dispatcher(
            cast("Ledger", process),
            cast("Work", process),
            cast("EffectTables", process),
            Cable(process, self.network),
            _SETTINGS,
            lambda: self.store.at,
            process.name,
            monotonic=process.monotonic,
        )
        context = contextvars.Context()
        context.run(CURRENT.set, process)
        main = self._loop.create_task(self._dispatch(dispatcher, process), context=context)
        self._tasks.append(main)

    async def _dispatch(self, dispatcher: Dispatcher, process: Process) -> None:
        with suppress(Killed):
            await dispatcher.run(asyncio.Event())

    # People

    async def _person(self) -> None:
        """Settles doubts by the tools' word once nothing is under way to them, and decides about what awaits approval."""
        chance = self._stream("person")
        while True:
            await asyncio.sleep(chance.uniform(0.5, 3))
            for commit_key, state in list(self.store.states.items()):
                for intent in list(state.intents.values()):
                    with suppress(Killed, LedgerError, GatewayError):
                        self._look_at(commit_key, intent, chance)

    def _look_at(self, commit_key: str, intent: Intent, chance: Random) -> None:
        if intent.state is IntentState.IN_DOUBT and not self.network.under_way[intent.intent_id]:
            happened = self.network.acts[intent.intent_id] > 0
            self.told.counts["doubts resolved"] += 1
            self._at_gateway(
                lambda gateway: gateway[2].resolve(
                    WHO, commit_key, intent.intent_id, happened=happened, reason="as the tool says"
                )
            )
        elif intent.state is IntentState.AWAITING_APPROVAL and chance.random() < 0.5:
            if chance.random() < 0.7:
                self.told.counts["approved"] += 1
                self._at_gateway(lambda gateway: gateway[3].approve(WHO, commit_key, intent.intent_id))
            else:
                self.told.counts["denied"] += 1
                self._at_gateway(
                    lambda gateway: gateway[3].deny(WHO, commit_key, intent.intent_id, reason="no")
                )

    # The table in force

    def _put_in_force(self) -> None:
        table = _table(
            self._setting.name,
            self._random.choice(["hold", "send"]),
            self._random.choice(["strict", "footprint"]),
            self._random.random() < 0.7,
            self._random.choice(["", "", "WRITE", "raised", "window"]),
        )
        self.store.tables.append(TableInForce(len(self.store.tables) + 1, table))
        self._say(f"table {len(self.store.tables)}: {json.dumps(table.document())}")

    async def _operator(self) -> None:
        """Changes the table now and then, and pauses a tool for a while."""
        chance = self._stream("operator")
        while chance.random() < 0.6:
            await asyncio.sleep(chance.uniform(0, TROUBLE / 2))
            if chance.random() < 0.5:
                self._put_in_force()
                self.told.counts["tables changed"] += 1
                continue
            tool = chance.choice([EVERY_TOOL, *self._setting.classes])
            self._say(f"paused: {tool}")
            self.told.counts["pauses"] += 1
            self.store.paused.add(tool)
            await asyncio.sleep(chance.uniform(0, TROUBLE / 3))
            self._say(f"resumed: {tool}")
            self.store.paused.discard(tool)


@cache
def _table(setting: str, reads: str, order: str, declared: bool, twist: str) -> EffectTable:
    """``twist``: WRITEs need approval; IDEMPOTENT is WRITE now; the window is over soon."""
    chosen = FILES if setting == FILES.name else BANK
    told = json.loads(chosen.effects(declared=declared, reads_behind_writes=reads, write_order=order))
    for row in told["tools"].values():
        row["timeout"] = "2s"
        if row["effect"] == "WRITE" and twist == "WRITE":
            row["approval"] = "required"
        if row["effect"] == "IDEMPOTENT" and twist == "raised":
            row["effect"] = "WRITE"
            del row["window"]
        if row["effect"] == "IDEMPOTENT" and twist == "window":
            row["window"] = "4s"
    return EffectTable.from_document(told)


def simulate(seed: int, *, tell: bool = False) -> Told:
    """What comes of a seed; always the same."""
    said = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        return Simulation(seed, tell=tell).run()
    finally:
        structlog.configure(**said)


# Leases stand in a set: in which order it is gone through must not depend on addresses.
Lease.__hash__ = lambda self: zlib.crc32(f"{self.intent_id}{self.attempt}".encode())  # type: ignore[method-assign]
