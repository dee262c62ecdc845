"""Events as nobody of ours writes them: one member, or a member of a member, is of another kind."""

from collections.abc import Iterator
from datetime import timedelta
from random import Random

from sqlalchemy import Engine

from ledger.append import Ledger
from ledger.events import Event
from ledger.payload import canonical_text
from ledger.sharding import StreamName
from tests.ledger import barewriter
from tests.ledger.audit.wandering import Wandering

WRONG: tuple[object, ...] = (
    None, True, 1.5, -1, 2**31 - 1, -(2**31), 2**53 - 1, -(2**53 - 1), 1e300, "", "x", "7", "2026-13-01",
    [], [None], [[1]], [{"id": "x"}], [{"id": 1.5}], [{"id": 1e300}], ["x", "y"], [2**53 - 1, "x"],
    {}, {"id": "x"}, {"id": [1]}, {"tools": 3}, {"1": 3, "2": [1], "3": {"round": "x"}},
)  # fmt: skip
"""What stands where something else should."""

Spoilt = tuple[list[Event], Event, dict[str, object]]
"""A history, the event of it that is spoilt, and its payload then."""


def histories(ledger: Ledger, tenant: str) -> list[list[Event]]:
    """Histories of one stream each, written in streams of ``tenant``, that hold nearly every kind of event."""
    turns = [Wandering(ledger, tenant, f"{n}", Random(n), age=timedelta(hours=48)) for n in range(6)]
    for turn in turns:
        turn.wander(30)
    return [turn.events for turn in turns]


def plant(engine: Engine, name: StreamName, spoilt: Spoilt) -> None:
    """Write the history in the stream ``name``, as a writer's login can, with the one payload spoilt."""
    history, spoilt_event, payload = spoilt
    told = [canonical_text(payload if event is spoilt_event else event.payload) for event in history]
    barewriter.write_all(engine, name, history, told)
    barewriter.count(engine, name, len(history))


def every(written: list[list[Event]]) -> list[Spoilt]:
    """Everything that can be spoilt in these histories, once each."""
    return [
        (history, event, payload) for history in written for event in history for payload in _payloads(event)
    ]


def _payloads(event: Event) -> Iterator[dict[str, object]]:
    for name, value in event.payload.items():
        for wrong in WRONG:
            yield {**event.payload, name: wrong}
        inner = value[0] if isinstance(value, list | tuple) and value else value
        for member in inner if isinstance(inner, dict) else ():
            for wrong in WRONG:
                changed = {**inner, member: wrong}
                yield {**event.payload, name: [changed] if inner is not value else changed}
