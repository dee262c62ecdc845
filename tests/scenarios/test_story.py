"""The stories are what they are said to be."""

from itertools import pairwise

import pytest

from tests.scenarios.story import (
    CLEARED_TOGETHER,
    CREATE_FIRST,
    CREATE_LAST,
    MALFORMED,
    STORIES,
    WANTED,
    WINDOW,
    Drafted,
    Finished,
    Ruled,
    Story,
    blocks,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.name)
def test_three_whole_blocks_stand_in_one_window_of_48_drafts(story: Story) -> None:
    assert len(story.window) == len(story.true) == WINDOW == 48
    found = blocks(story.window)
    assert sorted(str(block.calls[0].tool) for block in found) == [
        "create_coupon",
        "delete_coupon",
        "get_coupon",
    ]
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert found[-1].end == WINDOW


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.name)
def test_the_cut_falls_within_the_arguments_of_the_create(story: Story) -> None:
    created = next(b for b in blocks(story.window) if b.calls[0].tool == "create_coupon")
    assert created.start < story.cut() < created.end - 1
    assert MALFORMED in "".join(story.window)
    assert WANTED in "".join(story.true)


def test_the_first_redrafts_everything_behind_the_cut_in_round_1() -> None:
    window, ruling, rest, last, end = CREATE_FIRST.moves()
    assert window == Drafted(0, 0, CREATE_FIRST.window)
    cut = CREATE_FIRST.cut()
    assert ruling == Ruled(0, 0, 48, cut, CREATE_FIRST.true[cut])
    assert rest == Drafted(1, cut + 1, CREATE_FIRST.true[cut + 1 :])
    assert last == Ruled(1, cut + 1, 48, 47 - cut, None)
    assert end == Finished()


def test_the_second_rejects_exactly_the_last_9() -> None:
    ruling = list(CREATE_LAST.moves())[1]
    assert ruling == Ruled(0, 0, 48, 39, CREATE_LAST.true[39])
    read = blocks(CREATE_LAST.window)[1]
    assert read.end <= 39


def test_the_third_rules_delete_and_read_together_and_then_the_create() -> None:
    _, together, create, *_ = CLEARED_TOGETHER.moves()
    end = blocks(CLEARED_TOGETHER.window)[1].end
    assert together == Ruled(0, 0, end, end, None)
    assert create == Ruled(0, end, 48, 39 - end, CLEARED_TOGETHER.true[39])
