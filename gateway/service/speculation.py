"""Speculation: what became of early reads, tool by tool, and whether a tool goes on sending them.

An outcome is the decision of the block: cleared, and the read was worth it; voided, and it was wasted, unless another call
adopts its answer. The process that writes a stream's tokens sees them all, so each counts those of its own streams; where
more than half of a tool's last early reads were wasted it stops for the tenant, in every process and beyond a restart
(``ledger.braking.stops``). The counting itself begins anew with the process. After a rest one read is tried.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from threading import Lock
from typing import cast

import structlog

from effects.intent import Release
from effects.speculation import OUTCOMES, is_wasteful
from ledger.append import Appended
from ledger.braking.stops import Stop, Stops
from ledger.events import Event, EventType
from ledger.state import StreamState

_log = structlog.get_logger(__name__)


class Speculation:
    """Watches what is appended. ``known``: the stops of a tenant as known a moment ago; ``changed`` is called after one."""

    def __init__(
        self,
        stops: Stops,
        clock: Callable[[], datetime],
        known: Callable[[str], Mapping[str, Stop]],
        changed: Callable[[], None],
    ) -> None:
        """See the class."""
        self._stops = stops
        self._clock = clock
        self._known = known
        self._changed = changed
        self._wasted: dict[tuple[str, str], deque[bool]] = {}
        self._lock = Lock()

    def watch(self, appended: Appended) -> None:
        """Take note of what a change of one stream says about early reads. Raises LedgerUnavailable where that is kept."""
        tenant = appended.state.tenant
        for event in appended.events:
            if event.type is EventType.INTENT_RELEASED and event.payload["release"] == Release.EARLY.value:
                self._tried(tenant, appended.state, event)
            elif event.type is EventType.INTENT_ADOPTED:
                self._adopted(tenant, appended.state, event)
            for tool, wasted in _outcomes(appended.state, event):
                self._note(tenant, tool, wasted=wasted)

    def _note(self, tenant: str, tool: str, *, wasted: bool) -> None:
        with self._lock:
            seen = self._wasted.setdefault((tenant, tool), deque(maxlen=OUTCOMES))
            seen.append(wasted)
            last = list(seen)
        stop = self._known(tenant).get(tool)
        if stop is not None and not wasted:
            with self._lock:
                seen.clear()
            self._stops.lift(tenant, tool)
            _log.info("speculation_resumed", tenant=tenant, tool=tool)
            self._changed()
        elif stop is None and is_wasteful(last):
            self._stops.stop(tenant, Stop(tool, sum(last), len(last), self._clock()))
            _log.warning("speculation_stopped", tenant=tenant, tool=tool, wasted=sum(last), of=len(last))
            self._changed()

    def _tried(self, tenant: str, state: StreamState, event: Event) -> None:
        """On probation one read is tried; the next one has to rest again."""
        tool = state.intents[str(event.intent_id)].tool
        stop = self._known(tenant).get(tool or "")
        if stop is not None:
            self._stops.stop(tenant, Stop(stop.tool, stop.wasted, stop.outcomes, self._clock()))
            self._changed()

    def _adopted(self, tenant: str, state: StreamState, event: Event) -> None:
        with self._lock:
            seen = self._wasted.get((tenant, state.intents[str(event.intent_id)].tool or ""))
            if seen is not None and True in seen:
                # The latest: which of them it was is all the same.
                seen[len(seen) - 1 - list(reversed(seen)).index(True)] = False


def _outcomes(state: StreamState, event: Event) -> Iterator[tuple[str, bool]]:
    """Tool, and whether it was wasted, of every early read whose block the event decides."""
    if event.type not in (EventType.BLOCK_CLEARED, EventType.BLOCK_VOIDED):
        return
    for intent_id in cast("list[str]", event.payload["intents"]):
        intent = state.intents[intent_id]
        sent_early = intent.attempts > 0 and intent.answered_early and intent.adopted_from is None
        if sent_early and intent.tool is not None:
            yield intent.tool, event.type is EventType.BLOCK_VOIDED or intent.stale
