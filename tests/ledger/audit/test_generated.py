"""Every view says of every generated history what fold, timeline and reconciliation say of it."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from effects.table import EffectTable
from gateway.turn import approving
from gateway.turn.tables import TableInForce
from tests.gateway.turn.desk import TOOLS as TABLE
from tests.gateway.turn.desk import spell
from tests.ledger.audit.compare import check_all
from tests.ledger.audit.wandering import ASKING, Wandering
from tests.ledger.liveturn import LiveTurn
from tests.ledger.reconcile.turns import busy_turn

HISTORIES, STEPS = 4, 60
MORE = [pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 60)]
WANTED = (
    "verdict accepted", "verdict rejected", "verdict voided", "verdict pending",
    "state held", "state released", "state dispatched", "state settled", "state in_doubt", "state voided", "state refused",
    "state awaiting_approval", "state denied",
    "fate used", "fate wasted", "fate stale", "fate adopted", "fate None",
    "finding lost_effect", "finding in_doubt", "finding late_evidence",
)  # fmt: skip


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return Counter()


@pytest.mark.parametrize("seed", [*range(4), *MORE])
def test_views_agree_with_the_product(auditor, engine, ledger, tenant, counts, seed):
    random = Random(seed)
    for number in range(HISTORIES):
        age = timedelta(hours=random.choice([0, 5, 48]))
        turn = Wandering(ledger, tenant, f"{seed}-{number}", random, age=age)
        turn.wander(random.choice([10, STEPS, 2 * STEPS]))
        counts += check_all(auditor, engine, turn)


def test_a_turn_with_one_of_everything(auditor, engine, ledger, tenant, counts):
    """Early reads used, wasted and stale, writes, losses, resolutions, refusals: whatever the seeds come to."""
    turn = busy_turn(ledger, tenant)
    counts += check_all(auditor, engine, turn)
    assert {row["fate"] for row in auditor.rows("early_reads", turn.key)} == {"used", "wasted", "stale"}


def test_adopted_answers_and_calls_that_wait_for_a_person(auditor, engine, ledger, tenant, counts):
    """What is adopted is neither wasted nor without a dispatch; what awaits approval, and waits behind it, is not lost."""
    force = TableInForce(1, EffectTable.parse(TABLE.format(order="strict", reads="hold") + ASKING))
    turn = LiveTurn(ledger, tenant, "adopting", force, age=timedelta(hours=5))
    for answered_first in (True, False):
        name = f"thing {answered_first}"
        end = turn.draft(spell("read", name=name))
        turn.claim("read")
        if answered_first:
            turn.settle("read")
        turn.rule(end, 0, own="so ")
        turn.draft(spell("read", name=name))
        if not answered_first:
            turn.settle("read", -2)
        turn.rule_all()
    turn.say(spell("ask", name="denied"))
    turn._do(lambda u: approving.deny(u, u.intent(turn.intent("ask").intent_id), by="p", reason="no"))
    turn.say(spell("ask", name="open") + spell("create", name="behind it"))
    turn.finish()
    counts += check_all(auditor, engine, turn)
    shown = {str(row["intent_id"]): row for row in auditor.rows("intents", "adopting")}
    adopters = [row for row in shown.values() if row["adopted_from"] is not None]
    assert [(row["final"], row["attempts"]) for row in adopters] == [(True, 0), (True, 0)]
    assert all(row["dispatch_seq"] == shown[str(row["adopted_from"])]["dispatch_seq"] for row in adopters)
    assert [row["fate"] for row in auditor.rows("early_reads", "adopting")] == ["adopted", "adopted"]
    assert [
        row["finding"] for row in auditor.rows("dispatched_vs_accepted", "adopting") if row["finding"]
    ] == []
    # The control: once it is allowed, and nobody sends it, it is lost, and what waits behind it still is not.
    turn.now = datetime.now(UTC) - timedelta(hours=2)
    turn._do(lambda u: approving.approve(u, force, u.intent(turn.intent("ask").intent_id), by="p", note=None))
    found = [row for row in auditor.rows("dispatched_vs_accepted", "adopting") if row["finding"]]
    assert ("lost_effect", turn.intent("ask").intent_id) in {
        (row["finding"], row["intent_id"]) for row in found
    }
    check_all(auditor, engine, turn)


def test_the_generator_reaches_everything(counts, report):
    """The control: what no history reaches is not compared."""
    report(
        f"audit views: {counts['timeline']} events, {counts['tokens']} tokens, {counts['intents']} intents compared"
    )
    assert [name for name in WANTED if not counts[name]] == []
