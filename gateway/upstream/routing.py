"""Which adapter sends a call: the one for the kind of its upstream."""

import asyncio
from collections.abc import Callable, Mapping

from effects.upstream import runs_locally
from gateway.turn.dispatching import Assignment
from gateway.upstream.local import EVERYBODY, OFF, LocalUpstreams
from gateway.upstream.port import NotSent, Reply, Upstream

NOT_WIRED = "upstream_not_wired"
"""Code of a call whose kind of upstream this process does not speak."""


class Later:
    """An upstream that is made, in a thread, when the first call needs it: what it speaks with may take long to load."""

    def __init__(self, make: Callable[[], Upstream]) -> None:
        """See the class."""
        self._make = make
        self._made: Upstream | None = None

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        """Transmit once; see ``Upstream.send``."""
        if self._made is None:
            made = await asyncio.to_thread(self._make)
            # Calls that came at the same moment share what the first of them made.
            self._made = self._made or made
        return await self._made.send(call, timeout=timeout)

    async def aclose(self) -> None:
        """Close it, if it was ever needed."""
        if self._made is not None:
            await self._made.aclose()


class Routes:
    """An upstream made of one adapter for each ``effects.upstream.Upstream.kind``; they are closed with it.

    ``local``: whose tables may run code here.
    """

    def __init__(self, adapters: Mapping[str, Upstream], local: LocalUpstreams = EVERYBODY) -> None:
        """See the class."""
        self._adapters = dict(adapters)
        self._local = local

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of upstream that this process speaks."""
        return frozenset(self._adapters)

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        """Transmit once; see ``Upstream.send``. A kind without an adapter is certainly not sent, and says so."""
        adapter = self._adapters.get(call.upstream.kind)
        if adapter is None:
            return NotSent(NOT_WIRED, f"this process sends no {call.upstream.kind} calls", lasting=True)
        if runs_locally(call.upstream, call.server) and not self._local.allows(call.tenant):
            return NotSent(OFF, "the tenant's table may not run code here", lasting=True)
        return await adapter.send(call, timeout=timeout)

    async def aclose(self) -> None:
        """Close every adapter, also where closing another one fails; the first failure is raised then."""
        closing = (adapter.aclose() for adapter in self._adapters.values())
        for outcome in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
