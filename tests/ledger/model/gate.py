"""The model's gate: what each call waits for, whether its answer still holds, and what follows until nothing more does.

Written from design.md alone ("Effect classes at the gate", "Order, freshness, finality", "End of a stream"). Nothing of
``effects``, ``ledger`` or ``gateway`` is used.
"""

import copy
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.ledger.model.calls import Call, adopt, ask, conflict, end, leave
from tests.ledger.model.tools import Policy

ABORTED = ("error", "cancelled")
EARLY_READS = 4
"""Outstanding early reads of one commit key, at most."""


@dataclass
class Gate:
    """Decides over all calls of one stream as they stand; changes them in place."""

    calls: list[Call]
    policy: Policy
    finished: str | None
    now: datetime

    def run(self) -> None:
        """Until nothing changes: staleness, then finality, then everything else."""
        while self._mark_stale() or self._finalise() or self._move():
            pass

    def waits(self, call: Call) -> bool:
        """Rules 1, 2 and 4 of "Order": something must be over before this call."""
        return any(self._keeps_waiting(call, other) for other in self.calls if other is not call)

    def _keeps_waiting(self, call: Call, other: Call) -> bool:
        if other.over:
            return False
        earlier = other.lane == call.lane and other.place < call.place
        if call.reads:
            if other.reads or not conflict(call, other):
                return False
            return earlier or (other.lane != call.lane and other.exposed)
        strictly = self.policy.strict and not other.reads
        return earlier and (strictly or conflict(call, other))

    def _overtaken(self, read: Call) -> bool:
        """Rule 2: a conflicting non-read, earlier in its branch or of another, was settled after the read was sent."""
        return any(
            other.settled_fact is not None
            and read.sent_fact is not None
            and other.settled_fact > read.sent_fact
            and not other.reads
            and (other.lane != read.lane or other.place < read.place)
            and conflict(read, other)
            for other in self.calls
        )

    def _outdated(self, read: Call) -> bool:
        if read.early_answer and read.tool.max_age is not None and read.sent_at is not None:
            return self.now - read.sent_at > timedelta(seconds=read.tool.max_age)
        return False

    def _worthless(self, read: Call) -> bool:
        """An early ``unavailable`` is sent again once cleared."""
        return read.status == "unavailable" and read.early_answer

    def _mark_stale(self) -> bool:
        changed = False
        for call in self.calls:
            if not call.reads or call.over or call.state != "settled" or call.stale or self._worthless(call):
                continue
            if self._overtaken(call) or self._outdated(call):
                call.stale = changed = True
        return changed

    def _finalise(self) -> bool:
        changed = False
        for call in self.calls:
            if call.over or call.state != "settled":
                continue
            if not call.reads or (
                call.block == "cleared"
                and not self.waits(call)
                and not (self._worthless(call) or self._overtaken(call) or self._outdated(call))
            ):
                call.final = changed = True
        return changed

    def _move(self) -> bool:
        """One call at a time: what one change makes possible for another's answer counts before any further release."""
        for call in sorted(self.calls, key=lambda c: (c.lane, c.place)):
            if call.over or call.state in ("dispatched", "in_doubt"):
                continue
            before = (call.state, call.release)
            if call.state == "settled":
                self._answered(call)
            else:
                self._unsent(call)
            if before != (call.state, call.release):
                return True
        return False

    def _answered(self, read: Call) -> None:
        """A read whose answer cannot be given: sent again after clearing, unless the stream was broken off."""
        if read.block != "cleared" or self.waits(read):
            return
        if self.finished in ABORTED:
            end(read, "voided", "stream_aborted")
        elif not read.allowed(self.now):
            ask(read)
        elif not self._paused(read):
            self._let_go(read, "committed")

    def _unsent(self, call: Call) -> None:
        if self.finished in ABORTED and not call.perhaps_sent:
            end(call, "voided", "stream_aborted")
        elif call.block == "cleared" and not call.sayable:
            end(call, "refused", "unknown_tool" if call.tool_name is not None else "unparsable")
        elif call.block == "cleared" and not call.allowed(self.now):
            ask(call)
        elif self._may_adopt(call):
            pass
        elif self._may_go(call):
            if call.state != "released" or (call.block == "cleared" and call.release == "early"):
                self._let_go(call, "committed" if call.block == "cleared" else "early")
        elif call.state == "released":
            leave(call)

    def _may_go(self, call: Call) -> bool:
        if self._paused(call) or not self._its_turn(call):
            return False
        if call.block == "cleared":
            return True
        beside = sum(other.outstanding for other in self.calls if other is not call)
        return beside < EARLY_READS and not any(other.let_go for other in self._equals(call))

    def _its_turn(self, call: Call) -> bool:
        if call.block == "cleared":
            return not self.waits(call)
        if not call.reads or not call.tool.speculates or not call.allowed(self.now):
            return False
        return self.policy.ahead or not self.waits(call)

    def _equals(self, read: Call) -> list[Call]:
        """The other calls that ask the same."""
        asked = (read.tool_name, read.arguments)
        return [c for c in self.calls if c is not read and (c.tool_name, c.arguments) == asked]

    def _may_adopt(self, call: Call) -> bool:
        """A read that was never sent, when its turn has come, takes what a voided early read brought or will bring."""
        if not call.reads or call.state != "held" or call.attempts or not self._its_turn(call):
            return False
        offers = [other for other in self._equals(call) if other.offers and self._fresh(call, other)]
        if not offers:
            return False
        # One that is answered before one in flight; of several the latest.
        adopt(call, max(offers, key=lambda o: (o.awaited is None, o.sent_fact)))
        return True

    def _fresh(self, read: Call, source: Call) -> bool:
        probe = copy.copy(read)
        probe.sent_fact, probe.sent_at, probe.early_answer = source.sent_fact, source.sent_at, True
        return not self._overtaken_but(probe, read) and not self._outdated(probe)

    def _overtaken_but(self, probe: Call, read: Call) -> bool:
        """As ``_overtaken``, of a stand-in for ``read``."""
        others = [other for other in self.calls if other is not read]
        return Gate(others, self.policy, self.finished, self.now)._overtaken(probe)

    def _paused(self, call: Call) -> bool:
        return call.not_before is not None and call.not_before > self.now

    def _let_go(self, call: Call, release: str) -> None:
        call.state, call.release, call.stale, call.not_before = "released", release, False, None
        call.keyed = call.keyed or not call.reads
