"""Bugs planted into dispatchers of the crash tests: each takes away one rule that the product stands on."""

from collections.abc import Callable, Iterable, Mapping

from sqlalchemy import Connection

from effects import order
from effects.order import CallView
from gateway.dispatcher.call import Call
from gateway.dispatcher.inside import Trial
from gateway.dispatcher.leases import Lease
from gateway.dispatcher.worker import Dispatcher
from gateway.turn import dispatching
from gateway.turn.dispatching import Assignment
from gateway.turn.unfolding import Unfolding
from gateway.upstream.port import Answered, NotSent, Reply, Upstream
from ledger.work import ReleasedCall

SENDS_BEFORE_RECORDING = "sends before it records"
IGNORES_LEASES = "ignores that its lease is over"
REPEATS_WRITES = "repeats a WRITE on a timeout"
IGNORES_ORDER = "ignores order"
COMMITS_BEFORE_RECORDING = "commits a tool's statements before their outcome"


def plant(name: str) -> None:
    """Put the bug into this process."""
    BUGS[name]()


class _Ahead:
    """An upstream whose answers may have come already."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._replies: dict[str, Reply] = {}

    async def ahead(self, call: Assignment) -> None:
        reply = await self._upstream.send(call, timeout=call.timeout)
        while isinstance(reply, NotSent) and not reply.lasting:
            # A process of the tool may still be starting.
            reply = await self._upstream.send(call, timeout=call.timeout)
        self._replies[call.intent_id] = reply

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        known = self._replies.pop(call.intent_id, None)
        return known or await self._upstream.send(call, timeout=timeout)

    async def aclose(self) -> None:
        await self._upstream.aclose()


def _send_first() -> None:
    dispatch = Dispatcher._dispatch

    async def careless(self: Dispatcher, found: ReleasedCall) -> None:
        if not isinstance(self._upstream, _Ahead):
            self._upstream = _Ahead(self._upstream)
        books = self._books
        state = books._ledger.read(found.stream.tenant, found.stream.commit_key)
        force = books._tables.current(found.stream.tenant)
        unfolding = Unfolding(state, books.now)
        assignment = dispatching.claim(unfolding, force, found.intent_id, worker=self.worker_id, epoch=1)
        if assignment is not None:
            await self._upstream.ahead(assignment)
        await dispatch(self, found)

    Dispatcher._dispatch = careless  # type: ignore[method-assign]


def _hold_for_ever() -> None:
    Lease.holds = lambda _self, _now: True  # type: ignore[method-assign]


def _repeat() -> None:
    Call._may_repeat = lambda _self: True  # type: ignore[method-assign]


def _wait_for_nothing() -> None:
    def over(_call: CallView, _others: Iterable[CallView], *, strict_writes: bool) -> bool:
        return True

    order.earlier_terminal = over


def _commit_first() -> None:
    work = Trial.work

    def careless(self: Trial, connection: Connection) -> Answered | NotSent:
        reply = work(self, connection)
        connection.commit()
        connection.begin()
        return reply

    Trial.work = careless  # type: ignore[method-assign]


BUGS: Mapping[str, Callable[[], None]] = {
    SENDS_BEFORE_RECORDING: _send_first,
    IGNORES_LEASES: _hold_for_ever,
    REPEATS_WRITES: _repeat,
    IGNORES_ORDER: _wait_for_nothing,
    COMMITS_BEFORE_RECORDING: _commit_first,
}
