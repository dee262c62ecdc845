"""The dispatcher: finds released calls, claims them, and runs many at once."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

import structlog
import uuid_utils
from sqlalchemy.exc import SQLAlchemyError

from gateway.dispatcher.books import Books, Sleep
from gateway.dispatcher.call import Call, Sent
from gateway.dispatcher.claim import ClaimedCall, Claims, Unclaimed
from gateway.dispatcher.cooling import Cooling
from gateway.dispatcher.incarnation import Intake
from gateway.dispatcher.inside import InsideCall
from gateway.dispatcher.leases import LeaseKeeper
from gateway.dispatcher.outcome import Outcomes
from gateway.dispatcher.probing import Prober
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.spans import DispatchSpans
from gateway.dispatcher.sweep import Sweep
from gateway.dispatcher.turnstile import Turnstile
from gateway.dispatcher.wake import Wake
from gateway.dispatcher.witness import NoWitness, Witness
from gateway.failpoints import FailPoint, reached
from gateway.service.tables import EffectTables
from gateway.upstream.local import EVERYBODY, LocalUpstreams
from gateway.upstream.port import Upstream
from ledger.append import Ledger
from ledger.braking.admission import Refusal
from ledger.errors import LedgerError
from ledger.work import ReleasedCall, Work

_log = structlog.get_logger(__name__)

Hearing = Callable[[Callable[[], None]], AbstractContextManager[object]]
"""Makes something that calls its argument, from any thread, whenever another process may have let a call go."""

AWAY = 1.0
"""Seconds to wait before the database is asked again that did not answer."""


class Dispatcher:
    """Sends released calls of the shards that it serves. Any number may run over one ledger.

    ``worker_id`` names this dispatcher in the ledger, unlike every other (None: a fresh one). ``clock``: aware
    datetimes; ``monotonic``: seconds; ``sleep`` spaces out transmissions. ``hearing``: entered while it runs; without
    it other processes' releases are found by polling alone. ``witness``: what this and earlier dispatchers saw of the
    database (None: what this one sees). ``spans``: of its calls. ``local``: whose tools may run in the database. The
    upstream is closed when it ends. A dispatcher runs
    once: by ``run`` in a loop of the caller's, or by ``start`` and ``stop`` in a thread of its own.
    """

    def __init__(
        self,
        ledger: Ledger,
        work: Work,
        tables: EffectTables,
        upstream: Upstream,
        settings: DispatcherSettings,
        clock: Callable[[], datetime],
        worker_id: str | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        hearing: Hearing = nullcontext,
        witness: Witness | None = None,
        spans: DispatchSpans | None = None,
        local: LocalUpstreams = EVERYBODY,
    ) -> None:
        """See the class."""
        self._local = local
        self.worker_id = worker_id or f"dispatcher-{uuid_utils.uuid7()}"
        self._settings = settings
        self._work = work
        self._upstream = upstream
        self._monotonic = monotonic
        self._sleep = sleep
        self._spans = spans or DispatchSpans()
        self._wake = Wake()
        self._hearing = hearing
        self._books = Books(ledger, tables, clock=clock, threads=settings.ledger_threads)
        self._turnstile = Turnstile(self._books, work.pauses, monotonic)
        self._claims = Claims(
            self._books,
            settings,
            self.worker_id,
            monotonic,
            admissions=work.admissions,
            found_limited=self._turnstile.found_limited,
        )
        self._outcomes = Outcomes(self._books, work)
        self._leases = LeaseKeeper(
            ledger, floor=settings.lease_floor, monotonic=monotonic, sleep=asyncio.sleep
        )
        self._sweep = Sweep(
            self._books, work, settings, sleep=asyncio.sleep, found_work=self.wake, monotonic=monotonic
        )
        self._prober = Prober(
            self._books,
            work,
            upstream,
            settings,
            worker=self.worker_id,
            sleep=asyncio.sleep,
            found_work=self.wake,
            paused=self._turnstile.asked_paused,
        )
        self._intake = Intake(
            self._books,
            work.incarnations,
            settings,
            sleep=asyncio.sleep,
            found_work=self.wake,
            witness=witness or NoWitness(),
            monotonic=monotonic,
        )
        self._cooling = Cooling(monotonic)
        self._running: dict[ReleasedCall, asyncio.Task[None]] = {}
        self._late: set[asyncio.Task[None]] = set()
        self._shard = -1
        self._grace = settings.grace
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def wake(self) -> None:
        """There may be something to send; from any thread."""
        self._wake.ring()

    @property
    def alive(self) -> bool:
        """Whether its thread runs; False also before ``start``."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Run in a thread of its own until ``stop``."""
        self._thread = threading.Thread(target=self._run_in_thread, name=self.worker_id, daemon=True)
        self._thread.start()

    def stop(self, grace: float | None = None) -> None:
        """Claim nothing more, let running calls finish for ``grace`` seconds (None: as set), and return.

        What waits for the end of a pause is given back at once, and what certainly was not sent after ``grace``. What is
        still running then is left to its lease: whoever sweeps next decides about it.
        """
        if grace is not None:
            self._grace = grace
        self._stopped.set()
        self.wake()
        if self._thread is not None:
            self._thread.join()

    async def run(self, stop: asyncio.Event) -> None:
        """Dispatch until ``stop`` is set, then drain as ``stop`` says."""
        await self._serve(stop.is_set)

    def _run_in_thread(self) -> None:
        try:
            asyncio.run(self._serve(self._stopped.is_set))
        except Exception:  # noqa: BLE001 - nobody else sees what ends a thread
            _log.exception("dispatcher_died", worker=self.worker_id)

    async def _serve(self, stopped: Callable[[], bool]) -> None:
        self._wake.bind()
        # First of all, so that nothing is claimed in vain where only the server was started again.
        await self._intake.attempt()
        keepers = [
            asyncio.create_task(self._leases.run()),
            asyncio.create_task(self._sweep.run()),
            asyncio.create_task(self._prober.run()),
            asyncio.create_task(self._intake.run()),
        ]
        try:
            with self._hearing(self.wake):
                while not stopped():
                    await self._round()
                    await self._wake.heard(self._settings.poll_interval)
            await self._drain()
        finally:
            self._wake.unbind()
            await _end(*keepers, *self._running.values(), *self._late)
            await self._upstream.aclose()
            self._books.close()

    async def _round(self) -> None:
        free = self._settings.concurrency - len(self._running)
        if free <= 0:
            return
        try:
            # Beside those that will be sent, as many as may be passed over.
            limit = free + len(self._running) + len(self._cooling)
            await self._turnstile.refresh()
            found = await self._books.ask(
                self._work.released,
                self._settings.shards,
                limit,
                after=self._shard,
                without=self._turnstile.shut(),
            )
            fresh = (c for c in found if c not in self._running and not self._cooling.holds(c))
            chosen = self._turnstile.choose(fresh, free)
        except (LedgerError, SQLAlchemyError) as error:
            _log.warning("ledger_away", worker=self.worker_id, error=str(error))
            await self._wake.heard(AWAY)
            return
        for call in chosen:
            self._shard = call.stream.shard
            self._turnstile.trying(call)
            self._running[call] = asyncio.create_task(self._dispatch(call))

    async def _dispatch(self, found: ReleasedCall) -> None:
        try:
            reached(FailPoint.RELEASED_FOUND)
            claimed = await self._claim(found)
            if claimed is None:
                return
            self._leases.keep(claimed.lease)
            try:
                await (self._run_inside if claimed.assignment.inside else self._send)(claimed)
            finally:
                self._leases.let_go(claimed.lease)
                self._turnstile.over(found)
        except (LedgerError, SQLAlchemyError) as error:
            self._cooling.leave(found)
            _log.warning("not_claimed", intent_id=found.intent_id, error=str(error))
        except Exception:  # noqa: BLE001 - one call that breaks must not end the others
            self._cooling.leave(found)
            _log.exception("dispatch_failed", intent_id=found.intent_id)
        finally:
            del self._running[found]
            self.wake()

    async def _send(self, claimed: ClaimedCall) -> None:
        call = Call(
            claimed,
            self._upstream,
            self._outcomes,
            self._settings,
            monotonic=self._monotonic,
            sleep=self._sleep,
            passed=self._turnstile.passed,
            spans=self._spans,
        )
        waiting = await call.run()
        if waiting is not None:
            self._await_late(call, waiting)

    async def _run_inside(self, claimed: ClaimedCall) -> None:
        call = InsideCall(
            claimed,
            self._books,
            self._outcomes,
            self._settings,
            monotonic=self._monotonic,
            sleep=self._sleep,
            passed=self._turnstile.passed,
            allowed=self._local.allows(claimed.assignment.tenant),
        )
        with self._spans.dispatch(claimed.assignment):
            await call.run()

    async def _claim(self, found: ReleasedCall) -> ClaimedCall | None:
        refusal: Refusal | None = None
        try:
            claimed = await self._claims.claim(found)
            if not isinstance(claimed, Unclaimed):
                self._cooling.forget(found)
                return claimed
            refusal = claimed.refusal
            if claimed.paused:
                self._turnstile.forget()
            elif refusal is None:
                (self._cooling.leave if claimed.waits else self._cooling.forget)(found)
            return None
        finally:
            self._turnstile.tried(found, refusal)

    def _await_late(self, call: Call, waiting: asyncio.Task[Sent]) -> None:
        # Not in ``_running``: a call in doubt must not take the place of one that waits to be sent.
        task = asyncio.create_task(_await_late(call, waiting))
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _drain(self) -> None:
        self._turnstile.close()
        deadline = self._monotonic() + self._grace
        while (left := {*self._running.values(), *self._late}) and self._monotonic() < deadline:
            await asyncio.wait(left, timeout=deadline - self._monotonic())


async def _await_late(call: Call, waiting: asyncio.Task[Sent]) -> None:
    try:
        await call.await_late(waiting)
    except Exception:  # noqa: BLE001 - nobody awaits this task
        _log.exception("late_outcome_failed")


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
