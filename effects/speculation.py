"""Whether early reads of a tool are worth their while: what became of the last ones. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

OUTCOMES = 50
"""Early reads that are looked back on."""

ENOUGH = 10
"""Early reads of which something must have become before anything is said."""

MOST_WASTED = 0.5
"""Share of wasted ones beyond which a tool stops speculating."""

PROBATION = timedelta(minutes=5)
"""Rest after which one early read is tried again."""


def is_wasteful(wasted: Sequence[bool]) -> bool:
    """Whether more than half of the last early reads were wasted. ``wasted``: of each whether it was, the latest last."""
    last = wasted[-OUTCOMES:]
    return len(last) >= ENOUGH and sum(last) > MOST_WASTED * len(last)


def on_probation(stopped_at: datetime, now: datetime) -> bool:
    """Whether a tool that stopped (or was tried last) at ``stopped_at`` may be tried once more."""
    return now - stopped_at >= PROBATION
