"""Calls that come finished, from clients that have no tokens to show."""

from collections.abc import Callable
from datetime import datetime

import uuid_utils

from effects.canonical import digest
from gateway.principal import Principal, Role
from gateway.service.forks import begin
from gateway.service.streams import Wake
from gateway.service.tables import EffectTables
from gateway.turn.finished_call import FinishedCall, write_call
from gateway.turn.scanner import BlockScanner
from ledger.append import Change, Ledger
from ledger.state import StreamState


class FinishedCalls:
    """Writes finished calls as accepted blocks, in the name of ``front``."""

    def __init__(
        self,
        ledger: Ledger,
        tables: EffectTables,
        scanner: BlockScanner,
        clock: Callable[[], datetime],
        wake: Wake = lambda: None,
        *,
        front: str = "mcp",
    ) -> None:
        """See the class."""
        self._ledger = ledger
        self._tables = tables
        self._scanner = scanner
        self._clock = clock
        self._wake = wake
        self._front = front

    def call(self, principal: Principal, commit_key: str | None, call: FinishedCall) -> tuple[str, str, bool]:
        """Write the call, or find it: (commit key, intent id, whether it is a replay).

        Without a commit key the call is a model message of its own: the same in every retry, if it has a ``call_id``. Raises what
        ``gateway.turn.finished_call.write_call`` raises.
        """
        principal.require(Role.RUNTIME)
        key = commit_key or _own_key(call)
        intent_id, replayed = "", False

        def decide(state: StreamState) -> Change:
            nonlocal intent_id, replayed
            unfolding = begin(self._ledger, state, self._clock())
            force = self._tables.current(principal.tenant)
            intent_id, replayed = write_call(unfolding, call, self._front, self._scanner, force)
            return unfolding.change()

        self._ledger.append(principal.tenant, key, decide)
        self._wake()
        return key, intent_id, replayed


def _own_key(call: FinishedCall) -> str:
    """The commit key of a call that names none. From its ``call_id``, so that a retry finds it under the same key."""
    return str(uuid_utils.uuid7()) if call.call_id is None else f"call-{digest(call.call_id)[7:39]}"
