"""The matrix: which fail point is reached by whom, by calls of which class, and how it is brought about."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gateway.failpoints import FailPoint
from tests.crash import world

DISPATCHER, GATEWAY, TOOL, POSTGRES = "dispatcher", "gateway", "tool server", "postgres"
VICTIMS = (DISPATCHER, GATEWAY, TOOL, POSTGRES)
READ, PUT, WRITE = "READ_ONLY", "IDEMPOTENT", "WRITE"
CLASSES = (READ, PUT, WRITE)
MIXED = "mixed"
HTTP, MCP_HTTP, MCP_STDIO, PYTHON = "http", "mcp-http", "mcp-stdio", "python"
LOCAL = (MCP_STDIO, PYTHON)
"""Upstreams whose tools run in processes that a dispatcher starts itself."""

MARGIN, SWEEP, LATE = 0.2, 0.1, 1.0
"""Seconds: by which a lease is longer than what the tool may take, between sweeps, and for which a late answer is awaited."""


def pace(upstream: str) -> world.Pace:
    """How long the tools take over it, and may."""
    return world.OF_STARTERS if upstream == PYTHON else world.QUICK


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
_LOSING = Way((PUT, WRITE), world.RESETS)

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
    FailPoint.REPEATING: Way((READ, PUT), world.RESET),
    FailPoint.LEASE_RENEWING: Way(manner=world.SLOW),
    FailPoint.LEASE_RENEWED: Way(manner=world.SLOW),
    FailPoint.ANSWER_RECEIVED: _OF_ALL,
    FailPoint.OUTCOME_DECIDED: _OF_ALL,
    FailPoint.OUTCOME_COMMIT_SENT: _OF_ALL,
    FailPoint.OUTCOME_COMMITTED: _OF_ALL,
    # What may be repeated is given up in time and sent again; only of a WRITE the answer is awaited longer.
    FailPoint.CALL_OVERDUE: Way((WRITE,), world.OVERDUE),
    FailPoint.LOSS_DECIDED: _LOSING,
    FailPoint.LOSS_COMMIT_SENT: _LOSING,
    FailPoint.LOSS_COMMITTED: _LOSING,
    FailPoint.LATE_AWAITED: Way((WRITE,), world.OVERDUE),
    FailPoint.LATE_RECEIVED: Way((WRITE,), world.OVERDUE),
    FailPoint.EXPIRED_FOUND: _SEIZING,
    FailPoint.SEIZE_DECIDED: _SEIZING,
    FailPoint.SEIZE_COMMIT_SENT: _SEIZING,
    FailPoint.SEIZED: _SEIZING,
    FailPoint.RETRY_DUE: Way((PUT,), world.RESETS),
    FailPoint.RESOLUTION_RECEIVED: _RESOLVING,
    FailPoint.RESOLUTION_DECIDED: _RESOLVING,
    FailPoint.RESOLUTION_COMMIT_SENT: _RESOLVING,
    FailPoint.RESOLUTION_COMMITTED: _RESOLVING,
    world.RECEIVED: Way(process=TOOL),
    world.ACTED: Way(process=TOOL),
    world.HALF_ANSWERED: Way(process=TOOL),
}
"""By fail point; those of the tool server are its own."""


@dataclass(frozen=True)
class Case:
    """One kill: ``victim`` dies when ``point`` is reached for the ``nth`` time by calls of ``effect``."""

    point: str
    victim: str
    effect: str
    upstream: str = HTTP
    nth: int = 2

    @property
    def way(self) -> Way:
        return WAYS[self.point]

    def __str__(self) -> str:
        return f"{self.upstream}: {self.victim} at {self.point}, {self.effect}"


_BEFORE_SENDING = (
    FailPoint.RELEASED_FOUND,
    FailPoint.CLAIM_DECIDED,
    FailPoint.CLAIM_COMMIT_SENT,
    FailPoint.CLAIM_COMMITTED,
    FailPoint.SENDING,
)
_SURELY_STARTED = 4
"""There are three streams of effects: the fourth of these moments comes after a call that had a process."""


def lacking(case: Case) -> str | None:
    """Why its upstream has no such case; None: it has."""
    if case.upstream not in LOCAL:
        return None
    if case.point == FailPoint.REQUEST_PARTLY_WRITTEN:
        return "a pipe takes a request in one piece"
    if case.upstream == PYTHON and case.point == world.HALF_ANSWERED:
        return "the product's own child writes an answer in one piece"
    if case.victim != TOOL or case.way.process == TOOL:
        return None
    if case.way.process == GATEWAY:
        return "a gateway rules and resolves while no dispatcher needs a process of the tool"
    if case.way.manner in (world.RESET, world.RESETS):
        return "the tool's process has ended already: so the call was lost"
    if case.way.died:
        return "the tool's process ended with its dispatcher, and the next is not started yet"
    if case.point in _BEFORE_SENDING and case.effect == READ:
        return (
            "reads wait for nothing, so all of them are at this point before there is a process of the tool"
        )
    return None


def possible(upstream: str) -> Iterator[Case]:
    """Every combination, also those that the upstream lacks."""
    for point, way in WAYS.items():
        for victim in (TOOL,) if way.process == TOOL else VICTIMS:
            late = upstream in LOCAL and victim == TOOL and point in _BEFORE_SENDING
            for effect in way.classes:
                yield Case(point, victim, effect, upstream, _SURELY_STARTED if late else 2)


def matrix(upstream: str) -> Iterator[Case]:
    """Every combination that there is."""
    return (case for case in possible(upstream) if lacking(case) is None)


def around_the_send(upstream: str) -> Iterator[Case]:
    """A few of those where upstreams differ: the process that does the work is gone, or its dispatcher."""
    yield Case(FailPoint.REQUEST_WRITTEN, DISPATCHER, MIXED, upstream)
    yield Case(world.ACTED, TOOL, WRITE, upstream)


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
