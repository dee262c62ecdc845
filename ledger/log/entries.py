"""What is read from the log: events in log order, export entries, proofs."""

from dataclasses import dataclass
from datetime import datetime

from ledger.events import Event, EventType


@dataclass(frozen=True, slots=True)
class SealedEvent:
    """An event and its place in the log. The payload of a redacted event reads as an empty object."""

    index: int
    tenant: str
    commit_key: str
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which events to read; None: all. ``since`` (included) and ``until`` (not) compare ``at``, with time zone.

    ``tool``: events that concern an intent of that tool.
    """

    tenant: str | None = None
    commit_key: str | None = None
    type: EventType | None = None
    tool: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Events in log order. ``after``: the last index looked at, to go on from; -1 at the beginning of an empty log.

    A page may be empty although more follows: it looks at a bounded piece of the log. ``size``: the log's.
    """

    events: tuple[SealedEvent, ...]
    after: int
    size: int

    @property
    def more(self) -> bool:
        """Whether the log goes on behind this page."""
        return self.after + 1 < self.size


@dataclass(frozen=True, slots=True)
class Entry:
    """One place of the log as it is exported: the tree's leaf hash, and the event's bytes.

    ``envelope``, ``payload`` and ``salt`` are None where the event is another tenant's or is gone from the table;
    ``payload`` and ``salt`` also where it is redacted.
    """

    index: int
    leaf_hash: bytes
    tenant: str | None = None
    envelope: str | None = None
    payload: str | None = None
    salt: bytes | None = None


@dataclass(frozen=True, slots=True)
class Inclusion:
    """That an event stands at ``index`` in the tree of ``size`` leaves, signed for by ``checkpoint`` (a note).

    ``path``: sibling hashes from the leaf upwards (RFC 9162, 2.1.3).
    """

    index: int
    size: int
    leaf_hash: bytes
    envelope: str
    path: tuple[bytes, ...]
    checkpoint: str


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A signed checkpoint: tree ``size``, C2SP ``note``, and when it was signed."""

    size: int
    note: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Pending:
    """What is committed and not sealed: how many events, when the oldest was written, and its age in seconds.

    The age is by the database's clock, against the writer's ``at``; 0.0 where nothing waits.
    """

    events: int
    oldest: datetime | None
    lag_seconds: float
