"""Rates as tables spell them, and the bucket that keeps them."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from pydantic import ValidationError

from effects.errors import EffectTableRefused
from effects.limits import Bucket, Limits, Rate, draw, next_draw
from effects.table import EffectTable

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "count", "per"), [("10/s", 10, 1.0), ("100/min", 100, 60.0), ("1000/h", 1000, 3600.0)]
)
def test_a_rate_is_read_as_it_is_written(written: str, count: int, per: float) -> None:
    rate = Rate.parse(written)
    assert (rate.count, rate.per, str(rate)) == (count, per, written)


@pytest.mark.parametrize("written", ["0/s", "10", "10/d", "-1/s", "1.5/s", "10 /s", "9999999/s", 10, None])
def test_anything_else_is_no_rate(written: object) -> None:
    with pytest.raises(ValueError, match="a rate is written as"):
        Rate.parse(written)


def sent(rate: Rate, asked: list[float]) -> list[float]:
    """The seconds at which calls go that come at ``asked`` and wait as they are told."""
    bucket: Bucket | None = None
    went, now = [], 0.0
    for second in asked:
        now = max(now, second)
        while True:
            bucket, wait = draw(rate, bucket, START + timedelta(seconds=now))
            if wait == 0:
                break
            now += wait
        went.append(now)
    return went


def most(went: list[float], per: float) -> int:
    """Most calls in any half-open stretch of ``per`` seconds; times are sorted."""
    return max(bisect_left(went, first + per - 1e-4) - place for place, first in enumerate(went))


@pytest.mark.parametrize("written", ["1/s", "3/s", "10/s", "100/min", "1000/h", "37/min"])
@pytest.mark.parametrize("rush", ["all at once", "at random"])
def test_no_stretch_of_time_takes_more_than_the_rate(written: str, rush: str) -> None:
    rate, random = Rate.parse(written), Random(written)
    many = min(4 * rate.count, 2500)
    asked = (
        sorted(random.uniform(0, 3 * rate.per) for _ in range(many)) if rush == "at random" else [0.0] * many
    )
    went = sent(rate, asked)
    assert most(went, rate.per) <= rate.count
    # The control: nor is much less let go than could be.
    if rush == "all at once":
        assert (many - rate.burst) / (went[-1] - went[0]) >= 0.9 * rate.count / rate.per


def test_the_control_a_bucket_as_large_as_the_rate_lets_twice_as_many_go() -> None:
    class Wide(Rate):
        @property
        def burst(self) -> int:
            return self.count

        @property
        def refill(self) -> float:
            return self.count / self.per

    assert most(sent(Wide(10, 1.0), [0.0] * 40), 1.0) > 10


def test_a_clock_that_goes_back_gives_nothing() -> None:
    rate = Rate.parse("1/s")
    bucket, wait = draw(rate, None, START)
    assert wait == 0
    bucket, wait = draw(rate, bucket, START - timedelta(hours=1))
    assert wait == pytest.approx(1.0)
    assert next_draw(rate, bucket) == START + timedelta(seconds=1)


def test_limits_limit_something() -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate({})
    with pytest.raises(ValidationError):
        Limits.model_validate({"concurrency": 0})
    assert Limits.model_validate({"concurrency": 4}).rate is None


TABLE = """
limits: {{concurrency: 8}}
tools:
  get: {{effect: READ_ONLY, upstream: {{http: "http://127.0.0.1:9/get"}}, limits: {limits}}}
"""


def test_a_table_names_limits_of_a_tool_and_of_all() -> None:
    table = EffectTable.parse(TABLE.format(limits="{rate: 10/s, concurrency: 4}"))
    assert table.tools["get"].limits == Limits(rate=Rate(10, 1.0), concurrency=4)
    assert table.limits == Limits(concurrency=8)
    assert EffectTable.from_document(table.document()) == table
    judged = table.classify("get", {})
    assert judged.limits == table.tools["get"].limits


def test_a_wrong_limit_is_named() -> None:
    with pytest.raises(EffectTableRefused, match=r"tools\.get\.limits\.rate"):
        EffectTable.parse(TABLE.format(limits="{rate: fast}"))
