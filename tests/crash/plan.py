"""The matrix: which fail point is reached by whom, by calls of which class, and how it is brought about."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gateway.failpoints import FailPoint
from tests.crash import tool

DISPATCHER, GATEWAY, TOOL, POSTGRES = "dispatcher", "gateway", "tool server", "postgres"
VICTIMS = (DISPATCHER, GATEWAY, TOOL, POSTGRES)
READ, PUT, WRITE = "READ_ONLY", "IDEMPOTENT", "WRITE"
CLASSES = (READ, PUT, WRITE)
MIXED = "mixed"

TIMEOUT = 0.4
"""Seconds that a tool may take."""

LEASE, SWEEP, LATE = 0.6, 0.1, 1.0


@dataclass(frozen=True)
class Way:
    """How calls come to a point: the ``manner`` of the tool, and whether an earlier dispatcher ``died`` over them."""

    classes: tuple[str, ...] = CLASSES
    manner: str = "quick"
    died: bool = False
    process: str = DISPATCHER


_OF_ALL = Way()
_SEIZING = Way(died=True)
_RULING = Way(process=GATEWAY)
_RESOLVING = Way((WRITE,), died=True, process=GATEWAY)
_LOSING = Way((PUT, WRITE), tool.RESETS)

WAYS: Mapping[str, Way] = {
    FailPoint.RULING_RECEIVED: _RULING,
    FailPoint.RULING_DECIDED: _RULING,
    FailPoint.RULING_COMMIT_SENT: _RULING,
    FailPoint.RULING_COMMITTED: _RULING,
    FailPoint.RELEASED_FOUND: _OF_ALL,
    FailPoint.CLAIM_DECIDED: _OF_ALL,
    FailPoint.CLAIM_COMMIT_SENT: _OF_ALL,
    FailPoint.CLAIM_COMMITTED: _OF_ALL,
    FailPoint.SENDING: _OF_ALL,
    FailPoint.REQUEST_PARTLY_WRITTEN: _OF_ALL,
    FailPoint.REQUEST_WRITTEN: _OF_ALL,
    # A WRITE is never repeated.
    FailPoint.REPEATING: Way((READ, PUT), tool.RESET),
    FailPoint.LEASE_RENEWING: Way(manner=tool.SLOW),
    FailPoint.LEASE_RENEWED: Way(manner=tool.SLOW),
    FailPoint.ANSWER_RECEIVED: _OF_ALL,
    FailPoint.OUTCOME_DECIDED: _OF_ALL,
    FailPoint.OUTCOME_COMMIT_SENT: _OF_ALL,
    FailPoint.OUTCOME_COMMITTED: _OF_ALL,
    # What may be repeated is given up in time and sent again; only of a WRITE the answer is awaited longer.
    FailPoint.CALL_OVERDUE: Way((WRITE,), tool.OVERDUE),
    FailPoint.LOSS_DECIDED: _LOSING,
    FailPoint.LOSS_COMMIT_SENT: _LOSING,
    FailPoint.LOSS_COMMITTED: _LOSING,
    FailPoint.LATE_AWAITED: Way((WRITE,), tool.OVERDUE),
    FailPoint.LATE_RECEIVED: Way((WRITE,), tool.OVERDUE),
    FailPoint.EXPIRED_FOUND: _SEIZING,
    FailPoint.SEIZE_DECIDED: _SEIZING,
    FailPoint.SEIZE_COMMIT_SENT: _SEIZING,
    FailPoint.SEIZED: _SEIZING,
    FailPoint.RETRY_DUE: Way((PUT,), tool.RESETS),
    FailPoint.RESOLUTION_RECEIVED: _RESOLVING,
    FailPoint.RESOLUTION_DECIDED: _RESOLVING,
    FailPoint.RESOLUTION_COMMIT_SENT: _RESOLVING,
    FailPoint.RESOLUTION_COMMITTED: _RESOLVING,
    tool.RECEIVED: Way(process=TOOL),
    tool.ACTED: Way(process=TOOL),
    tool.HALF_ANSWERED: Way(process=TOOL),
}
"""By fail point; those of the tool server are its own."""


@dataclass(frozen=True)
class Case:
    """One kill: ``victim`` dies when ``point`` is reached for the ``nth`` time by calls of ``effect``."""

    point: str
    victim: str
    effect: str
    upstream: str = "http"
    nth: int = 2

    @property
    def way(self) -> Way:
        return WAYS[self.point]

    def __str__(self) -> str:
        return f"{self.upstream}: {self.victim} at {self.point}, {self.effect}"


def matrix(upstream: str) -> Iterator[Case]:
    """Every combination that there is."""
    for point, way in WAYS.items():
        for victim in (TOOL,) if way.process == TOOL else VICTIMS:
            for effect in way.classes:
                yield Case(point, victim, effect, upstream)


def representatives(upstream: str) -> Iterator[Case]:
    """One for each fail point, over calls of all classes at once where all reach it. The process that reached it is the
    victim; at every fourth it is another one."""
    for number, (point, way) in enumerate(WAYS.items()):
        others = [victim for victim in VICTIMS if victim != way.process]
        victim = others[number // 4 % len(others)] if number % 4 == 3 else way.process
        if way.process == TOOL:
            victim = TOOL
        effect = MIXED if way.classes == CLASSES else way.classes[-1]
        yield Case(point, victim, effect, upstream)
