"""The incident happens to an orchestrator that treats the draft stream as a commit log: it is seen to fail."""

from pathlib import Path

import pytest

from tests.scenarios.account import account
from tests.scenarios.books import FIRST_DAY, books, call_text
from tests.scenarios.naive import Naive
from tests.scenarios.story import GONE, MALFORMED, PERCENT, STORIES, WANTED, Story


@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.name)
def test_dispatching_on_drafts_leaves_all_three_anomalies(story: Story, tmp_path: Path) -> None:
    with books(tmp_path) as shop, Naive(shop, "naive-turn") as orchestrator:
        for move in story.moves():
            orchestrator.apply(move)
        told = account("naive", story, shop, seen=orchestrator.seen(), response=orchestrator.response())
        stray = call_text("create_coupon", {"code": MALFORMED, "percent": PERCENT})
        # It believes that all is well ...
        assert orchestrator.reconcile() == []
        # ... while a coupon exists that no accepted token ever named,
        assert shop.coupons() == {c: p for c, p in FIRST_DAY.items() if c != GONE} | {
            WANTED: PERCENT,
            MALFORMED: PERCENT,
        }
        # made by a dispatch that the accepted stream does not know, though the union of both does,
        assert told.hidden == (stray,)
        assert orchestrator.union() == [stray]
        # and the response cites a coupon that the same message has deleted.
        read, deleted = (
            next(r for r in shop.requests() if r.tool == t) for t in ("get_coupon", "delete_coupon")
        )
        assert read.done < deleted.done
        assert told.response == f"{GONE} still gives {FIRST_DAY[GONE]} %."
        assert told.stale
        assert [r.effect for r in shop.requests()].count(True) == told.effects == 3
