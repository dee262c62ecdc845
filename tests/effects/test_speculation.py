"""When early reads of a tool are wasted too often."""

from datetime import UTC, datetime, timedelta

import pytest

from effects.speculation import is_wasteful, on_probation

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wasted", "expected"),
    [
        ([True] * 9, False),
        ([True] * 10, True),
        ([True, False] * 5, False),
        ([True, False] * 5 + [True], True),
        ([False] * 5, False),
        # Only the last fifty count.
        ([True] * 100 + [False] * 25 + [True] * 25, False),
        ([False] * 100 + [False] * 24 + [True] * 26, True),
    ],
)
def test_more_than_half_of_enough(wasted: list[bool], expected: bool) -> None:
    assert is_wasteful(wasted) is expected


def test_probation_comes_after_a_rest() -> None:
    assert not on_probation(START, START + timedelta(minutes=4, seconds=59))
    assert on_probation(START, START + timedelta(minutes=5))
