"""The books and the tools' log, read at a moment at which nothing moves between the two."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from ledger.events import Event
from tests.crash.judge import folded, rests
from tests.crash.runtime import Turn
from tests.gateway.toolserver import eventually


class Watched(Protocol):
    """What is looked at."""

    def quiet_tool(self) -> None: ...

    def events(self, commit_key: str) -> list[Event]: ...

    def log(self) -> list[dict[str, Any]]: ...


class Books(NamedTuple):
    """``told``: the events of each stream, by its commit key."""

    told: Mapping[str, Sequence[Event]]
    log: Sequence[Mapping[str, Any]]


def at_rest(stage: Watched, turns: Sequence[Turn], within: float) -> Books:
    """Read them once all streams rest, with nothing that a late answer has set free on its way; after ``within`` seconds as
    they are: the judge says what is wrong then."""
    seen = Books({}, ())

    def still() -> bool:
        nonlocal seen
        stage.quiet_tool()
        before = _events(stage, turns)
        seen = Books(before, stage.log())
        return before == _events(stage, turns) and all(
            rests(folded(turn.commit_key, before[turn.commit_key]), turn.asked) for turn in turns
        )

    with suppress(AssertionError):
        eventually(still, within=within)
    return seen


def _events(stage: Watched, turns: Sequence[Turn]) -> dict[str, Sequence[Event]]:
    return {turn.commit_key: stage.events(turn.commit_key) for turn in turns}
