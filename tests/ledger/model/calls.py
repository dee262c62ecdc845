"""The model's calls: what each waits for, whether its answer still holds, and what follows until nothing more does.

Written from design.md alone ("Life of an intent", "Effect classes at the gate", "Order, freshness, finality", "End of a
stream"). Nothing of ``effects``, ``ledger`` or ``gateway`` is used.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.ledger.model.tools import TOOLS, UNKNOWN, Policy, Tool

ABORTED = ("error", "cancelled")
OVER = ("voided", "refused")


@dataclass
class Call:
    """One call, mutable. ``sent_fact``, ``settled_fact``: when it was last sent and settled, counted in facts."""

    lane: str
    round: int
    start: int
    end: int
    ordinal: int
    byte_start: int
    byte_end: int
    tool_name: str | None
    arguments: dict[str, object] | None
    call_id: str | None = None
    block: str = "undecided"
    state: str = "held"
    why_over: str | None = None
    release: str | None = None
    final: bool = False
    stale: bool = False
    attempts: int = 0
    awaited: int | None = None
    keyed: bool = False
    sent_fact: int | None = None
    sent_at: datetime | None = None
    first_sent_at: datetime | None = None
    settled_fact: int | None = None
    early_answer: bool = False
    status: str | None = None
    content: object = None
    not_before: datetime | None = None
    resolved: bool = False

    @property
    def tool(self) -> Tool:
        return TOOLS.get(self.tool_name or "", UNKNOWN)

    @property
    def sayable(self) -> bool:
        """Whether it parses and its tool is known."""
        return self.tool_name in TOOLS

    @property
    def reads(self) -> bool:
        return self.tool.effect == "READ_ONLY"

    @property
    def place(self) -> tuple[int, int]:
        return (self.start, self.ordinal)

    @property
    def over(self) -> bool:
        """Terminal: final, voided, refused; in doubt is not."""
        return self.final or self.state in OVER

    @property
    def exposed(self) -> bool:
        return self.awaited is not None or self.state == "in_doubt"

    def touches(self) -> str | None:
        """The one thing that it names, "" for nothing, None for anything of its upstream."""
        if self.tool.touches == "anything":
            return None
        if self.tool.touches == "nothing":
            return ""
        name = (self.arguments or {}).get("name")
        return name if isinstance(name, str) else None


def conflict(one: Call, other: Call) -> bool:
    """Footprints overlap, and at least one is not READ_ONLY."""
    if one.reads and other.reads:
        return False
    if "?" in (one.tool.upstream, other.tool.upstream):
        return True
    mine, theirs = one.touches(), other.touches()
    if one.tool.upstream == other.tool.upstream and (mine is None or theirs is None):
        return True
    return bool(mine) and mine == theirs


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
        elif not self._paused(read):
            self._let_go(read, "committed")

    def _unsent(self, call: Call) -> None:
        perhaps_sent = call.attempts > 0 and call.keyed
        if self.finished in ABORTED and not perhaps_sent:
            end(call, "voided", "stream_aborted")
        elif call.block == "cleared" and not call.sayable:
            end(call, "refused", "unknown_tool" if call.tool_name is not None else "unparsable")
        elif self._may_go(call):
            if call.state != "released" or (call.block == "cleared" and call.release == "early"):
                self._let_go(call, "committed" if call.block == "cleared" else "early")
        elif call.state == "released":
            call.state, call.release = "held", None

    def _may_go(self, call: Call) -> bool:
        if self._paused(call):
            return False
        if call.block == "cleared":
            return not self.waits(call)
        if not call.reads or not call.tool.speculates:
            return False
        return self.policy.ahead or not self.waits(call)

    def _paused(self, call: Call) -> bool:
        return call.not_before is not None and call.not_before > self.now

    def _let_go(self, call: Call, release: str) -> None:
        call.state, call.release, call.stale, call.not_before = "released", release, False, None
        call.keyed = call.keyed or not call.reads


def end(call: Call, state: str, why: str) -> None:
    """Voided or refused, once."""
    call.state, call.why_over, call.stale, call.not_before = state, why, False, None
