"""What a decision asks the ledger to write: events, and the rows beside them that are no projections.

All of a change is written in one transaction, or nothing of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ledger.events import Event, NewEvent
from ledger.state import StreamState


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """Permission to send one attempt of an intent, with the lease of ``worker`` on it.

    ``effect``: name of the effect class. ``once_key``: needed for a WRITE; at most one licence holds it.
    ``lease_seconds`` count from now by the database's clock. ``started_seq``: seq of the attempt's
    dispatch.started; None where that event is in the same change. The database refuses a licence that the
    recorded events do not cover (LicenceRefused).
    """

    intent_id: str
    attempt: int
    branch: str
    effect: str
    worker: str
    epoch: int
    lease_seconds: float
    once_key: str | None = None
    started_seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseLicence:
    """The holder of the lease has an outcome. ``epoch``: the one it holds; LeaseLost if it does not any more.

    ``worker``: who was licensed (None: not asked); in a database that came back, the same attempt and epoch may be
    somebody else's. ``unsent``: the call certainly never left; needs a dispatch.settled that says so, and frees the once_key.
    """

    intent_id: str
    attempt: int
    epoch: int
    unsent: bool = False
    worker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeizeLicence:
    """Close a licence whose lease ran out, and fence its holder: its epoch grows by one.

    ``seen_epoch``: the one that was seen to have run out; LeaseLost where it is renewed, closed or seized
    since. ``unsent``: as that of CloseLicence.
    """

    intent_id: str
    attempt: int
    seen_epoch: int
    unsent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReplay:
    """The answer to a batch of events, kept for replays. ``response`` may be made from the state after it."""

    batch_id: str
    body_digest: bytes
    response: str | Callable[[StreamState], str]


SideRow = Licence | CloseLicence | SeizeLicence | BatchReplay


class Folded(NamedTuple):
    """What ``before`` comes to with the events of a change, each written at ``at``: whoever decided has folded them already."""

    before: StreamState
    after: StreamState
    at: datetime


class Change(NamedTuple):
    """Events to append, in order, and the side rows that stand or fall with them. Empty: nothing to write.

    ``folded`` spares the ledger the fold; None: it folds them itself, and says when they were written.
    """

    events: tuple[NewEvent, ...] = ()
    side: tuple[SideRow, ...] = ()
    folded: Folded | None = None


class Appended(NamedTuple):
    """The state after a change, and its events as they were written."""

    state: StreamState
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch that was answered before."""

    body_digest: bytes
    response: str
