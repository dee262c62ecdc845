"""Gateways of the simulation: the product's services over what one process sees of the ledger, and another in its place once
it dies."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar, cast

from gateway.service.approvals import Approvals
from gateway.service.brakes import KnownBrakes
from gateway.service.doubts import Doubts
from gateway.service.speculation import Speculation
from gateway.service.streams import Streams
from gateway.service.tables import EffectTables
from gateway.turn.scanner import BlockScanner
from ledger.append import Ledger
from ledger.braking.pausing import Pauses
from ledger.braking.stops import Stops
from tests.simulation.braking import PausesTable, StopsTable
from tests.simulation.process import CURRENT, Killed, Process
from tests.simulation.tables import NewestTable

T = TypeVar("T")
_NO_ENGINE = cast("Any", None)


@dataclass(frozen=True)
class Gateway:
    process: Process
    streams: Streams
    doubts: Doubts
    approvals: Approvals


def known_brakes(process: Process) -> KnownBrakes:
    """What a process knows of what holds calls back, asked of the simulated database."""
    brakes = KnownBrakes(_NO_ENGINE, lambda: process.store.at, monotonic=process.monotonic)
    brakes._pauses = cast("Pauses", PausesTable(process))
    brakes._stops = cast("Stops", StopsTable(process))
    return brakes


def gateway_over(process: Process) -> Gateway:
    process.stands_still = False
    brakes, ledger = known_brakes(process), cast("Ledger", process)
    tables = cast("EffectTables", NewestTable(process.store, brakes))
    stops = cast("Stops", StopsTable(process))

    def clock() -> Any:
        return process.store.at

    watch = Speculation(stops, clock, brakes.stops, brakes.forget).watch
    return Gateway(
        process,
        Streams(ledger, tables, BlockScanner(), clock, watch=watch),
        Doubts(_NO_ENGINE, ledger, tables, clock),
        Approvals(_NO_ENGINE, ledger, tables, clock),
    )


class Gateways:
    """Those that run, of which any may be asked. ``start``: a new process."""

    def __init__(
        self, number: int, start: Callable[[], Process], random: Random, counts: Counter[str]
    ) -> None:
        self._start = start
        self._random = random
        self._counts = counts
        self._running = [gateway_over(start()) for _ in range(number)]

    def ask(self, ask: Callable[[Gateway], T]) -> T:
        """What one of them answers. Raises Killed where it dies over it, and whatever the product raises."""
        place = self._random.randrange(len(self._running))
        gateway = self._running[place]
        token = CURRENT.set(gateway.process)
        try:
            return ask(gateway)
        except Killed:
            self._counts["gateways killed"] += 1
            self._running[place] = gateway_over(self._start())
            raise
        finally:
            CURRENT.reset(token)
