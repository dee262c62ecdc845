"""Every fail point, every victim, every class, every upstream (``make test-long``); the table is kept in bench/results."""

from collections.abc import Callable

import pytest

from tests.crash import table
from tests.crash.plan import matrix
from tests.crash.stage import Stage
from tests.crash.trial import Crash
from tests.crash.upstreams import UPSTREAMS

PIECES = 10


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("piece", range(PIECES))
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_every_combination(
    crash_stage: Stage, upstream: str, piece: int, report: Callable[[str], None]
) -> None:
    crash_stage.in_force(upstream)
    cases = list(matrix(upstream))
    size = -(-len(cases) // PIECES)
    mine, wrong = cases[piece * size : (piece + 1) * size], []
    for case in mine:
        trial = Crash(crash_stage, case).run()
        table.keep([trial.row])
        if trial.faults:
            wrong.append(f"{case}: {trial.faults}")
    report(
        f"crash matrix over {upstream}, piece {piece + 1} of {PIECES}: {len(mine)} cases, {len(wrong)} red"
    )
    assert wrong == []
