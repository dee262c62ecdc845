"""The turnstile: which released calls a dispatcher tries next, where tools are paused or limited.

A tool is found to be limited when its first call is claimed; from then on one of its calls at a time asks for admission,
that of the stream that was served longest ago, so that no stream keeps the others out. While a tool is shut its calls are
not even read: they stay released, and take no other tool's place.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from itertools import count

import structlog
from sqlalchemy.exc import SQLAlchemyError

from gateway.dispatcher.books import Books, Sleep
from gateway.turn.brakes import EVERY_TOOL
from ledger.braking.admission import Refusal
from ledger.braking.pausing import Pauses
from ledger.errors import LedgerError
from ledger.sharding import StreamName
from ledger.work import ReleasedCall

FRESH = 0.25
"""Seconds for which what is known of pauses is good."""

REMEMBERED = 100_000
"""Streams of which it is kept when they were served."""

Tool = tuple[str, str | None]
"""Tenant and tool; None: every tool of the tenant."""

_log = structlog.get_logger(__name__)


class Turnstile:
    """Of one dispatcher. Used in its event loop alone."""

    def __init__(
        self, books: Books, pauses: Pauses, monotonic: Callable[[], float], sleep: Sleep = asyncio.sleep
    ) -> None:
        """``monotonic``: seconds."""
        self._books = books
        self._pauses = pauses
        self._monotonic = monotonic
        self._sleep = sleep
        self._asked: float | None = None
        self._paused: frozenset[Tool] = frozenset()
        self._limited: set[Tool] = set()
        self._shut: dict[Tool, float] = {}
        self._asking: set[Tool] = set()
        self._served: dict[StreamName, int] = {}
        self._turns = count(1)
        self._closed = False

    async def refresh(self) -> None:
        """Ask what is paused, unless that is known well enough. While the database is away it stays as it was."""
        now = self._monotonic()
        if self._asked is not None and now - self._asked < FRESH:
            return
        self._asked = now
        try:
            found = await self._books.ask(self._pauses.all)
        except (LedgerError, SQLAlchemyError) as error:
            _log.warning("pauses_not_known", error=type(error).__name__)
            return
        paused = {
            (tenant, None if pause.tool == EVERY_TOOL else pause.tool): pause
            for tenant, pauses in found.items()
            for pause in pauses
        }
        for tenant, tool in paused.keys() - self._paused:
            told = paused[tenant, tool]
            _log.warning("tool_paused", tenant=tenant, tool=told.tool, by=told.by, reason=told.reason)
        for tenant, tool in self._paused - paused.keys():
            _log.warning("tool_resumed", tenant=tenant, tool=tool or EVERY_TOOL)
        self._paused = frozenset(paused)

    def forget(self) -> None:
        """What is known of pauses is old."""
        self._asked = None

    def shut(self) -> Collection[Tool]:
        """The tools whose calls are not to be read now."""
        now = self._monotonic()
        self._shut = {tool: until for tool, until in self._shut.items() if until > now}
        return {*self._paused, *self._shut, *self._asking}

    def choose(self, found: Iterable[ReleasedCall], most: int) -> list[ReleasedCall]:
        """Those to try now, at most ``most``, in the order given; of each limited tool one."""
        chosen: list[ReleasedCall] = []
        waiting: dict[Tool, list[ReleasedCall]] = {}
        for call in found:
            tool = _tool(call)
            if tool in self._limited:
                waiting.setdefault(tool, []).append(call)
            elif len(chosen) < most:
                chosen.append(call)
        for tool, calls in waiting.items():
            if tool not in self._asking and len(chosen) < most:
                chosen.append(min(calls, key=lambda call: self._served.get(call.stream, 0)))
        return chosen

    def found_limited(self, call: ReleasedCall) -> None:
        """The tool of this call has limits."""
        self._limited.add(_tool(call))

    def trying(self, call: ReleasedCall) -> None:
        """The call is tried now: if its tool is limited, no other of it until ``tried``."""
        if _tool(call) in self._limited:
            self._asking.add(_tool(call))

    def tried(self, call: ReleasedCall, refusal: Refusal | None) -> None:
        """The call was tried: let in, if there is no ``refusal``."""
        tool = _tool(call)
        self._asking.discard(tool)
        if refusal is not None:
            everything = refusal.tool == EVERY_TOOL
            self._shut[tool[0], None if everything else tool[1]] = self._monotonic() + refusal.wait
        elif tool in self._limited:
            if len(self._served) >= REMEMBERED:
                self._served.clear()
            self._served[call.stream] = next(self._turns)

    def over(self, call: ReleasedCall) -> None:
        """A call that was let in ended, so there may be room again."""
        if _tool(call) in self._limited:
            self._shut.pop(_tool(call), None)

    def is_paused(self, tenant: str, tool: str) -> bool:
        """Whether the tool is paused, as known now."""
        return (tenant, tool) in self._paused or (tenant, None) in self._paused

    async def asked_paused(self, tenant: str, tool: str) -> bool:
        """Whether the tool is paused; asked anew unless that is known well enough."""
        await self.refresh()
        return self.is_paused(tenant, tool)

    async def passed(self, tenant: str, tool: str) -> bool:
        """Wait while the tool is paused: right before each transmission. False: it is, and nobody waits here any more."""
        await self.refresh()
        while self.is_paused(tenant, tool):
            if self._closed:
                return False
            await self._sleep(FRESH)
            await self.refresh()
        return True

    def close(self) -> None:
        """Nobody waits here any more for the end of a pause."""
        self._closed = True


def _tool(call: ReleasedCall) -> Tool:
    return (call.stream.tenant, call.tool)
