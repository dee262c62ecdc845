"""Limits of sending: how many calls of a tool a stretch of time takes, and how many may run at once. Pure.

The rate is kept by a token bucket that never lets more than ``count`` calls go in any stretch of ``per`` seconds: a tenth
of them may go at once, and what is left refills it evenly. Whoever wants a plain even spacing asks for fewer than 20.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictInt,
    model_validator,
)

LARGEST = 1_000_000
"""Most calls of a rate or a concurrency that a table may name."""

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_RATE = re.compile(r"([1-9][0-9]{0,6})/(s|min|h)")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most ``count`` calls in any ``per`` seconds."""

    count: int
    per: float

    @classmethod
    def parse(cls, source: object) -> Self:
        """Read ``10/s``, ``100/min`` or ``1000/h``. ValueError for anything else."""
        if isinstance(source, cls):
            return source
        found = _RATE.fullmatch(source) if isinstance(source, str) else None
        if found is None or int(found[1]) > LARGEST:
            raise ValueError("a rate is written as 10/s, 100/min or 1000/h")
        return cls(int(found[1]), _UNITS[found[2]])

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.count}/{next(unit for unit, seconds in _UNITS.items() if seconds == self.per)}"

    @property
    def burst(self) -> int:
        """Calls that may go at once after a rest."""
        return max(1, self.count // 10)

    @property
    def refill(self) -> float:
        """Calls a second that may go on and on."""
        return (self.count - self.burst + 1) / self.per


@dataclass(frozen=True, slots=True)
class Bucket:
    """What was left of the burst at ``at``, in calls."""

    left: float
    at: datetime


def draw(rate: Rate, bucket: Bucket | None, now: datetime) -> tuple[Bucket, float]:
    """Take one call out of the bucket (None: it was never used): what is left, and how many seconds to wait instead.

    Waiting 0: the call goes. Otherwise nothing was taken. A clock that goes back gives nothing and takes nothing.
    """
    if bucket is None:
        bucket = Bucket(rate.burst, now)
    passed = max((now - bucket.at).total_seconds(), 0.0)
    left = min(bucket.left + passed * rate.refill, rate.burst)
    at = max(now, bucket.at)
    # Rounding must not keep a call waiting for a stretch of time that no clock shows.
    if left >= 1.0 - 1e-6:
        return Bucket(left - 1.0, at), 0.0
    return Bucket(left, at), (1.0 - left) / rate.refill


def next_draw(rate: Rate, bucket: Bucket) -> datetime:
    """When the bucket, left alone, lets the next call go."""
    return bucket.at + timedelta(seconds=max(1.0 - bucket.left, 0.0) / rate.refill)


class Limits(BaseModel):
    """How fast, and how many at once. ``rate`` None: as fast as it goes; ``concurrency`` None: as many as there are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate: (
        Annotated[Rate, PlainValidator(Rate.parse), PlainSerializer(str, when_used="unless-none")] | None
    ) = None
    concurrency: Annotated[StrictInt, Field(ge=1, le=LARGEST)] | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.rate is None and self.concurrency is None:
            raise ValueError("limits name a rate or a concurrency")
        return self
