"""Durations: how they are read and spelled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effects.durations import MAX_SECONDS, format_duration, parse_duration


@pytest.mark.parametrize(
    ("spelling", "seconds"),
    [("250ms", 0.25), ("10s", 10), ("5m", 300), ("24h", 86400), ("7d", 604800), ("1ms", 0.001)],
)
def test_durations(spelling: str, seconds: float) -> None:
    assert parse_duration(spelling) == seconds


@given(st.integers(1, 10**9 - 1), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_the_kept_spelling_means_the_same_and_is_the_only_one(count: int, unit: str) -> None:
    try:
        seconds = parse_duration(f"{count}{unit}")
    except ValueError:
        seconds_of = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
        assert count * seconds_of[unit] > MAX_SECONDS
        return
    spelled = format_duration(seconds)
    assert format_duration(float(seconds)) == spelled
    assert parse_duration(spelled) == seconds


@pytest.mark.parametrize(
    "spelling", ["", "10", "s", "1h30m", "10S", " 10s", "10s\n", "٣s", "1" * 10 + "s", 10, None]
)
def test_what_is_no_duration(spelling: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(spelling)
