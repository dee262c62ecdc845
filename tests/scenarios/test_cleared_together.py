"""DELETE and READ clear in one ruling, the early READ answered already and the DELETE not yet sent.

Nothing looks wrong at that moment: every token is accepted, the answer is there, and nothing has overtaken it. It must not
become final all the same. Dispatchers are processes that run only when the test lets them, so that the moment lasts.
"""

from pathlib import Path

import httpx2

from tests import processes
from tests.postgres import TestDatabase
from tests.scenarios.books import books
from tests.scenarios.checks import check
from tests.scenarios.gated import GatedTurn, apply_effects
from tests.scenarios.story import CLEARED_TOGETHER


def test_the_early_answer_waits_for_the_delete_and_is_asked_for_again(
    idle_gateway: httpx2.Client,
    environ: dict[str, str],
    module_database: TestDatabase,
    tmp_path: Path,
) -> None:
    with books(tmp_path / "shop") as shop:
        apply_effects(idle_gateway, shop.origin, "send")
        turn = GatedTurn(idle_gateway)
        window, together, create_ruled, *rest = CLEARED_TOGETHER.moves()

        with processes.dispatcher(tmp_path, environ) as first:
            turn.play(window)
            assert first.end() == 0
        early = turn.living("get_coupon")
        assert (early["state"], early["release"], early["block"]) == ("settled", "early", "undecided")
        assert [r.tool for r in shop.requests()] == ["get_coupon"]

        ruled = {i["tool"]: i for i in turn.tell(together)}
        assert {i["block"] for i in ruled.values()} == {"cleared"}
        assert (ruled["delete_coupon"]["state"], ruled["delete_coupon"]["attempts"]) == ("released", 0)
        for read in (ruled["get_coupon"], turn.living("get_coupon")):
            assert (read["state"], read["final"], read["stale"]) == ("settled", False, False)
            assert read["reason"] == "earlier_calls"
            assert "result" not in read

        for move in (create_ruled, *rest):
            turn.tell(move)
        assert [r.tool for r in shop.requests()] == ["get_coupon"]
        assert turn.living("get_coupon")["final"] is False
        assert turn.living("create_coupon")["state"] == "held"

        with processes.dispatcher(tmp_path, environ) as second:
            delete, read, create = turn.settled()
            assert second.end() == 0
        assert (delete["attempts"], read["attempts"], create["attempts"]) == (1, 2, 1)
        assert _story_of_the_read(turn, read["intent_id"]) == [
            "intent.held",
            "intent.released",
            "dispatch.started",
            "dispatch.settled",
            "intent.stale",
            "intent.released",
            "dispatch.started",
            "dispatch.settled",
            "intent.final",
        ]
        summary = check(CLEARED_TOGETHER, turn, shop, module_database, "gate detected send")
        assert (summary.blocks_cleared, summary.blocks_voided) == (3, 1)
        assert (summary.early_used, summary.early_wasted, summary.early_stale) == (0, 0, 1)


def _story_of_the_read(turn: GatedTurn, intent_id: str) -> list[str]:
    return [e["type"] for e in turn.events() if e.get("intent_id") == intent_id]
