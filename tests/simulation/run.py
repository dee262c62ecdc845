"""One seed: messages, gateways, dispatchers, people and a network, in virtual time, with a schedule of crashes."""

import asyncio
import contextvars
import json
import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, cast

import structlog

from effects import speculation
from gateway import failpoints
from gateway.dispatcher.leases import Lease
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.worker import Dispatcher
from gateway.service.tables import EffectTables
from gateway.turn.tables import TableInForce
from ledger.append import Ledger
from ledger.work import Work
from tests.equivalence.simulation import draw_message
from tests.equivalence.worlds import BANK, FILES, Setting
from tests.simulation.forks import draw_fork
from tests.simulation.gateways import Gateways, known_brakes
from tests.simulation.judge import judged
from tests.simulation.loop import VirtualLoop
from tests.simulation.network import Cable, Network
from tests.simulation.people import Operator, Person
from tests.simulation.process import CURRENT, Fates, Killed, Process
from tests.simulation.rules import Rules
from tests.simulation.store import Store
from tests.simulation.tables import NewestTable, Tables
from tests.simulation.work import SimulatedWork
from tests.simulation.writer import Writer

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
    probe_pause=1.0,
    longest_probe_pause=8.0,
)
_RESTS = timedelta(seconds=10)
"""Rest of a tool that stopped, in place of minutes."""


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
        self.store = Store(self._loop.time, counts=self.told.counts)
        self.rules = Rules(self.store)
        self.store.watch = self.rules.committed
        self.fates = Fates(self._stream("fates"), self._say)
        self.network = Network(self.store, self._setting, self._stream("network"))
        self._numbers = Counter[str]()
        self._ended = False
        self._enough = self._random.choice([speculation.ENOUGH, 1, 1, 1])
        self._gateways = Gateways(
            2, lambda: self._process("gateway", lambda: None), self._random, self.told.counts
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._tables = Tables(self._setting, self._stream("tables"))
        self._put_in_force()
        self.writers = self._draw_writers()

    def _stream(self, name: str) -> Random:
        return Random(zlib.crc32(name.encode()) ^ self._random.getrandbits(48))

    def _say(self, line: str) -> None:
        if self._tell:
            self.told.story.append(f"{self._loop.time():8.3f}  {line}")

    def _draw_writers(self) -> list[Writer]:
        """One message or two, or one and forks of it."""
        first = draw_message(self._random, self._setting)
        writers = [self._writer("turn-0", first)]
        if self._random.random() < 0.25:
            fork = draw_fork(self._random, self._setting, first)
            writers.append(self._writer("fork-1", fork, "turn-0"))
            if self._random.random() < 0.3:
                again = draw_fork(self._random, self._setting, first)
                writers.append(self._writer("fork-2", again, "fork-1"))
        elif self._random.random() < 0.45:
            writers.append(self._writer("turn-1", draw_message(self._random, self._setting)))
        return writers

    def _writer(self, commit_key: str, message: Any, fork_of: str | None = None) -> Writer:
        chance = self._stream(f"writer {commit_key}")
        return Writer(commit_key, message, self.store, chance, self._gateways, fork_of)

    def run(self) -> Told:
        asyncio.set_event_loop(self._loop)
        try:
            with _in_place(self._enough):
                try:
                    self._loop.run_until_complete(self._whole())
                finally:
                    self._end()
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()
        self.told.faults += self.network.faults + self.rules.faults
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
        self._tasks += [asyncio.create_task(somebody.run()) for somebody in self._people()]
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

    def _people(self) -> Iterator[Person | Operator]:
        counts = self.told.counts
        yield Person(self.store, self.network, self._gateways, self._stream("person"), counts)
        yield Operator(
            self.store,
            self._setting,
            self._stream("operator"),
            counts,
            change=self._put_in_force,
            say=self._say,
            trouble=TROUBLE,
        )

    def _put_in_force(self) -> None:
        table = self._tables.next()
        self.store.tables.append(TableInForce(len(self.store.tables) + 1, table))
        if self._tell:
            self._say(f"table {len(self.store.tables)}: {json.dumps(table.document())}")

    def _process(self, kind: str, on_death: Callable[[], None]) -> Process:
        self._numbers[kind] += 1
        name = f"{kind}/{self._numbers[kind]}"
        return Process(name, self.store, self._stream(name), self.fates, on_death)

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
            cast("Work", SimulatedWork(process)),
            cast("EffectTables", NewestTable(self.store, known_brakes(process))),
            Cable(process, self.network),
            _SETTINGS,
            lambda: self.store.at,
            process.name,
            monotonic=process.monotonic,
        )
        context = contextvars.Context()
        context.run(CURRENT.set, process)
        main = self._loop.create_task(_dispatch(dispatcher), context=context)
        self._tasks.append(main)


async def _dispatch(dispatcher: Dispatcher) -> None:
    with suppress(Killed):
        await dispatcher.run(asyncio.Event())


@contextmanager
def _in_place(enough: int) -> Iterator[None]:
    """The fail points of this process, and a few outcomes and seconds in place of the many that stop a tool's early reads."""
    before = failpoints._armed, speculation.ENOUGH, speculation.PROBATION
    failpoints._armed = cast("Any", _Points())
    speculation.ENOUGH, speculation.PROBATION = enough, _RESTS
    try:
        yield
    finally:
        failpoints._armed, speculation.ENOUGH, speculation.PROBATION = before


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
