"""The incident cannot happen through the gateway: the same shop, drafts and judge, and none of the three anomalies."""

from pathlib import Path

import httpx2
import pytest

from tests.postgres import TestDatabase
from tests.scenarios.books import Books, books
from tests.scenarios.checks import check
from tests.scenarios.gated import GatedTurn, Policy, Source, apply_effects
from tests.scenarios.story import CREATE_FIRST, CREATE_LAST, Drafted, Finished, Ruled

SOURCES: list[Source] = ["detected", "posted"]


@pytest.mark.parametrize(
    ("source", "policy", "early"),
    [("detected", "hold", False), ("detected", "send", True), ("posted", "send", True)],
)
def test_a_cut_in_the_create_voids_it_and_all_that_follows(
    gateway: httpx2.Client,
    module_database: TestDatabase,
    tmp_path: Path,
    source: Source,
    policy: Policy,
    early: bool,
) -> None:
    with books(tmp_path) as shop:
        apply_effects(gateway, shop.origin, policy)
        turn = GatedTurn(gateway, source)
        window, ruling, rest, last, end = CREATE_FIRST.moves()

        held = turn.play(window)
        assert [i["state"] for i in held] == ["held", "held", "settled" if early else "held"]
        assert _sent(shop) == ["get_coupon"] * early
        voided = turn.play(ruling)
        assert [i["state"] for i in voided] == ["voided"] * 3
        assert all(i["block"] == "voided" and not i["final"] for i in voided)

        turn.play(rest)
        # What is asked again adopts what was answered, and is sent for itself once the delete has overtaken that.
        assert _sent(shop) == ["get_coupon"] * early
        assert turn.counts()["intent.adopted"] == early
        turn.tell(last)
        turn.tell(end)
        create, delete, read = turn.settled()
        assert (create["attempts"], delete["attempts"], read["attempts"]) == (1, 1, 1)
        assert all(i["round"] == 1 for i in (create, delete, read))

        assert turn.counts()["intent.stale"] == early
        summary = check(CREATE_FIRST, turn, shop, module_database, f"gate {source} {policy}")
        assert (summary.blocks_cleared, summary.blocks_voided) == (3, 3)
        assert (summary.early_used, summary.early_wasted, summary.early_adopted) == (0, 0, early)


@pytest.mark.parametrize("source", SOURCES)
def test_rejecting_the_last_9_voids_the_create_and_the_early_read_is_sent_again(
    gateway: httpx2.Client, module_database: TestDatabase, tmp_path: Path, source: Source
) -> None:
    with books(tmp_path) as shop:
        apply_effects(gateway, shop.origin, "send")
        turn = GatedTurn(gateway, source)
        window, ruling, rest, last, end = CREATE_LAST.moves()
        assert (window, ruling) == (
            Drafted(0, 0, CREATE_LAST.window),
            Ruled(0, 0, 48, 39, CREATE_LAST.true[39]),
        )

        turn.play(window)
        read = turn.living("get_coupon")
        assert (read["state"], read["release"], read["final"]) == ("settled", "early", False)
        assert "result" not in read
        assert _sent(shop) == ["get_coupon"]

        ruled = {i["tool"]: i for i in turn.tell(ruling)}
        assert {tool: i["block"] for tool, i in ruled.items()} == {
            "delete_coupon": "cleared",
            "get_coupon": "cleared",
            "create_coupon": "voided",
        }
        assert ruled["create_coupon"]["attempts"] == 0
        for move in (rest, last, end):
            turn.tell(move)
        delete, read, create = turn.settled()
        assert (delete["attempts"], read["attempts"], create["attempts"]) == (1, 2, 1)
        assert (delete["round"], read["round"], create["round"]) == (0, 0, 1)
        assert end == Finished()

        assert turn.counts()["intent.stale"] == 1
        summary = check(CREATE_LAST, turn, shop, module_database, f"gate {source} send")
        assert (summary.blocks_cleared, summary.blocks_voided) == (3, 1)
        assert (summary.early_used, summary.early_wasted, summary.early_stale) == (0, 0, 1)


def _sent(shop: Books) -> list[str]:
    return [request.tool for request in shop.requests()]
