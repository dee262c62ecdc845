"""Evidence: everything that is laid side by side about one stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ledger.events import Event


@dataclass(frozen=True, slots=True)
class DispatchRow:
    """A licence to send, as it stands in ``ledger.dispatches``. ``lease_until`` by the database's clock."""

    intent_id: str
    attempt: int
    branch: str
    effect: str
    lease_until: datetime
    started_seq: int
    open: bool
    unsent: bool


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One request as a tool's own log tells it. ``line``: where it stands, from 1.

    ``arguments``: the body's text, None where the log leaves it out. ``effect``: whether the tool's data changed for
    it, None where the log does not say (a request cut off before it was handled). ``at``: seconds since 1970.
    """

    line: int
    tool: str | None
    commit_key: str | None
    intent_id: str | None
    idempotency_key: str | None
    arguments: str | None
    effect: bool | None
    at: float | None = None


class FoundCall(Protocol):
    """One call of a found block; ``tool`` and ``arguments_raw`` are None where the block does not parse."""

    @property
    def ordinal(self) -> int: ...  # noqa: D102
    @property
    def tool(self) -> str | None: ...  # noqa: D102
    @property
    def arguments_raw(self) -> str | None: ...  # noqa: D102


class FoundBlock(Protocol):
    """A closed call block that tokens spell: its token span [start, end) and its calls."""

    @property
    def start(self) -> int: ...  # noqa: D102
    @property
    def end(self) -> int: ...  # noqa: D102
    @property
    def calls(self) -> Sequence[FoundCall]: ...  # noqa: D102


FindBlocks = Callable[[str, Sequence[str]], "Sequence[FoundBlock] | None"]
"""(format of the stream, texts of a branch's tokens) to the closed blocks in them; None for a format that it cannot read.

Passed in, because the ledger does not know how calls are spelled.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One stream: all its events in order, all its dispatch rows, and the log entries that may concern it."""

    tenant: str
    commit_key: str
    events: Sequence[Event]
    dispatches: Sequence[DispatchRow] = ()
    log: Sequence[LogEntry] = ()
