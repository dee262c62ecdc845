"""Histories without a database: the decisions of the gateway and the fold, compared with the model after every step."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.ledger.model.core import Core
from tests.ledger.model.running import FIRST_SEED, NAMED, drawn, missing, play, told

HISTORIES = 2000
DRAWN = 1900
"""Hypothesis plays more than it is asked for: it also varies some of those that it drew."""
LONG_PARTS, LONG_PART = 20, 2500


def test_decisions_and_fold_do_what_the_model_does(report: Callable[[str], None]) -> None:
    seen: Counter[str] = Counter()
    play(Core, seen, seed=FIRST_SEED, histories=DRAWN, steps=12)
    report(told("in memory", FIRST_SEED, seen))
    assert seen["histories"] >= HISTORIES
    assert not missing(seen, NAMED)


@pytest.mark.long
@pytest.mark.parametrize("part", range(LONG_PARTS))
def test_decisions_and_fold_do_what_the_model_does_for_long(part: int, report: Callable[[str], None]) -> None:
    seen: Counter[str] = Counter()
    seed = drawn(part)
    print("seed", seed)
    play(Core, seen, seed=seed, histories=LONG_PART, steps=20)
    report(told("in memory", seed, seen))
    assert seen["histories"] >= LONG_PART
