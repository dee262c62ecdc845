"""The composition root: one place where adapters meet the services that use them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Engine

from gateway.metrics import Meter
from gateway.service.approvals import Approvals
from gateway.service.brakes import KnownBrakes
from gateway.service.braking import Braking
from gateway.service.doubts import Doubts
from gateway.service.finished_calls import FinishedCalls
from gateway.service.intents import Intents
from gateway.service.keyring import Keyring
from gateway.service.log import SealedLog
from gateway.service.services import Services
from gateway.service.speculation import Speculation
from gateway.service.streams import Streams, Wake, Watch
from gateway.service.tables import EffectTables
from gateway.turn.scanner import BlockScanner
from gateway.upstream.local import EVERYBODY, LocalUpstreams
from ledger.append import Ledger
from ledger.braking.stops import Stops
from ledger.heads import read_heads
from ledger.log.reader import LogReader
from ledger.observing import NOBODY, Observer


def utc_now() -> datetime:
    """The clock of a running process."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Wired:
    """The services over one database."""

    engine: Engine
    ledger: Ledger
    tables: EffectTables
    braking: Braking
    streams: Streams
    intents: Intents
    doubts: Doubts
    approvals: Approvals
    log: SealedLog
    finished_calls: FinishedCalls


def wire(
    engine: Engine,
    *,
    clock: Callable[[], datetime] = utc_now,
    wake: Wake = lambda: None,
    notify: bool = False,
    brakes: bool = True,
    observer: Observer = NOBODY,
    local: LocalUpstreams = EVERYBODY,
) -> Wired:
    """Services over ``engine``.

    ``wake`` is called when a dispatcher of this process may have work; ``notify``: those of other processes are told
    by NOTIFY. ``brakes``: whether decisions look at what is paused and at stopped speculation. ``observer``: told of what
    is written. ``local``: whose effect tables may run code on the dispatcher's machine.
    """
    ledger = Ledger(engine, clock=clock, notify=notify, observer=observer)
    known = KnownBrakes(engine, clock)
    tables = EffectTables(ledger, clock, known.of if brakes else None, local)
    scanner = BlockScanner()
    return Wired(
        engine=engine,
        ledger=ledger,
        tables=tables,
        braking=Braking(engine, tables, known, wake),
        streams=Streams(
            ledger, tables, scanner, clock, wake, watch=_watch(engine, clock, known) if brakes else None
        ),
        intents=Intents(ledger, tables, scanner, clock, wake),
        doubts=Doubts(engine, ledger, tables, clock, wake),
        approvals=Approvals(engine, ledger, tables, clock, wake),
        log=SealedLog(LogReader(engine)),
        finished_calls=FinishedCalls(ledger, tables, scanner, clock, wake),
    )


def _watch(engine: Engine, clock: Callable[[], datetime], known: KnownBrakes) -> Watch:
    return Speculation(Stops(engine), clock, known.stops, known.forget).watch


def services_over(
    wired: Wired, *, ready: Callable[[], None], metrics: Callable[[], bytes] | None = None
) -> Services:
    """What a front calls. ``metrics``: those of the process; those of a new meter if not given."""
    return Services(
        streams=wired.streams,
        intents=wired.intents,
        tables=wired.tables,
        doubts=wired.doubts,
        braking=wired.braking,
        approvals=wired.approvals,
        log=wired.log,
        finished_calls=wired.finished_calls,
        keyring=Keyring(wired.engine, utc_now),
        heads=partial(read_heads, wired.engine),
        ready=ready,
        metrics=metrics or Meter(wired.engine).text,
    )
