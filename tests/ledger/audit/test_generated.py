"""Every view says of every generated history what fold, timeline and reconciliation say of it."""

from collections import Counter
from datetime import timedelta
from random import Random

import pytest

from tests.ledger.audit.compare import check_all
from tests.ledger.audit.wandering import Wandering
from tests.ledger.test_reconcile import busy_turn

HISTORIES, STEPS = 4, 60
MORE = [pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 60)]
WANTED = (
    "verdict accepted", "verdict rejected", "verdict voided", "verdict pending",
    "state held", "state released", "state dispatched", "state settled", "state in_doubt", "state voided", "state refused",
    "fate used", "fate wasted", "fate stale", "fate None",
    "finding lost_effect", "finding in_doubt", "finding late_evidence",
)  # fmt: skip


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return Counter()


@pytest.mark.parametrize("seed", [*range(6), *MORE])
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


def test_the_generator_reaches_everything(counts, report):
    """The control: what no history reaches is not compared."""
    report(
        f"audit views: {counts['timeline']} events, {counts['tokens']} tokens, {counts['intents']} intents compared"
    )
    assert [name for name in WANTED if not counts[name]] == []
