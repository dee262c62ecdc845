"""Tools in the ledger's own database: whatever is killed whenever, each effect is there once and is the one that is settled."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import pytest

from gateway.failpoints import FailPoint
from tests.crash import planted, table
from tests.crash.inside import KIND, InsideCrash, InsideStage, inside_stage, matrix, representatives
from tests.crash.judge import CONTRADICTED, WRITE_TWICE
from tests.crash.plan import DISPATCHER, WRITE, Case
from tests.crash.trial import Trial
from tests.failover.servers import Fleet


@pytest.fixture(scope="module")
def stage(crash_fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InsideStage]:
    postgres = crash_fleet.primary(fsync="off")
    with inside_stage(tmp_path_factory.mktemp("inside"), postgres) as running:
        yield running
    postgres.kill()


def run(stage: InsideStage, cases: Iterable[Case]) -> tuple[list[Trial], list[str], Counter[str]]:
    trials, wrong, counts = [], [], Counter[str]()
    for case in cases:
        trial = InsideCrash(stage, case).run()
        trials.append(trial)
        counts.update(trial.at_rest.counts)
        if trial.faults or trial.at_rest.counts["in doubt"]:
            wrong.append(f"{case}: {trial.faults}, {trial.at_rest.counts}")
    return trials, wrong, counts


def test_a_crash_around_the_one_commit(stage: InsideStage, report: Callable[[str], None]) -> None:
    trials, wrong, counts = run(stage, representatives())
    report(f"crashes around statements in the ledger's database: {len(trials)} cases, {dict(counts)}")
    assert wrong == []
    assert counts["sent again"]
    assert counts["in doubt"] == 0


def test_statements_that_are_committed_before_their_outcome_are_found(stage: InsideStage) -> None:
    case = Case(FailPoint.OUTCOME_DECIDED, DISPATCHER, WRITE, KIND)
    faults = InsideCrash(stage, case, planted.COMMITS_BEFORE_RECORDING).run().faults
    assert faults.keys() & {WRITE_TWICE, CONTRADICTED}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_every_combination(stage: InsideStage, report: Callable[[str], None]) -> None:
    trials, wrong, counts = run(stage, matrix())
    table.keep([trial.row for trial in trials])
    report(f"crash matrix over {KIND}: {len(trials)} cases, {len(wrong)} red, {dict(counts)}")
    assert wrong == []
