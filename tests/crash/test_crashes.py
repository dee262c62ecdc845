"""A crash at every fail point between an accepted token and a recorded outcome: nothing twice, nothing lost."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.failpoints import FailPoint
from tests.crash import planted
from tests.crash.judge import CONTRADICTED, OUT_OF_ORDER, STALE, UNRECORDED, WRITE_TWICE
from tests.crash.outliving import outlive
from tests.crash.plan import (
    DISPATCHER,
    LOCAL,
    MCP_HTTP,
    TOOL,
    WAYS,
    WRITE,
    Case,
    around_the_send,
    lacking,
    matrix,
    possible,
    representatives,
)
from tests.crash.stage import Stage
from tests.crash.trial import Crash
from tests.crash.world import ACTED


def test_every_fail_point_is_in_the_plan() -> None:
    assert {point.value for point in FailPoint} <= set(map(str, WAYS))


def test_a_crash_at_every_fail_point(crash_stage: Stage, report: Callable[[str], None]) -> None:
    crash_stage.in_force("http")
    wrong, counts, doubts, slowest = [], Counter[str](), Counter[str](), 0.0
    for case in representatives("http"):
        trial = Crash(crash_stage, case).run()
        counts.update(trial.at_rest.counts)
        doubts.update(trial.doubts)
        slowest = max(slowest, trial.rest_seconds)
        if trial.faults:
            wrong.append(f"{case}: {trial.faults}")
    report(
        f"a crash at each of {len(WAYS)} fail points: {dict(counts)}, doubts {dict(doubts)}, "
        f"at rest after {slowest:.1f} s at most"
    )
    assert wrong == []
    assert counts["in doubt"]
    assert counts["sent again"]


@pytest.mark.parametrize("upstream", LOCAL)
def test_a_crash_around_the_send(crash_stage: Stage, upstream: str, report: Callable[[str], None]) -> None:
    crash_stage.in_force(upstream)
    wrong, counts = [], Counter[str]()
    for case in around_the_send(upstream):
        trial = Crash(crash_stage, case).run()
        counts.update(trial.at_rest.counts)
        if trial.faults:
            wrong.append(f"{case}: {trial.faults}")
    report(f"crashes around the send over {upstream}: {dict(counts)}")
    assert wrong == []
    assert counts["in doubt"] + counts["sent again"]


@pytest.mark.parametrize("upstream", LOCAL)
def test_what_an_upstream_lacks_is_a_small_part_of_the_plan(upstream: str) -> None:
    everything, tried = list(possible(upstream)), list(matrix(upstream))
    assert len(tried) > 0.75 * len(everything)
    assert {case.victim for case in tried} == {case.victim for case in everything}
    assert {case.effect for case in tried} == {case.effect for case in everything}
    assert all(lacking(replace(case, upstream="http")) is None for case in everything)


TRIALS = 5
REPEATED = (planted.REPEATS_WRITES, Case(ACTED, TOOL, WRITE, nth=1), {WRITE_TWICE})
PLANTED = [
    (
        planted.SENDS_BEFORE_RECORDING,
        Case(FailPoint.CLAIM_DECIDED, DISPATCHER, WRITE),
        {UNRECORDED, WRITE_TWICE},
    ),
    REPEATED,
    (
        planted.IGNORES_ORDER,
        Case(FailPoint.OUTCOME_COMMITTED, DISPATCHER, WRITE),
        {OUT_OF_ORDER, STALE},
    ),
]


def is_found(stage: Stage, case: Case, bug: str, faults: set[str]) -> bool:
    """Whether the bug shows: in one of a few trials, for what goes wrong depends on who is faster."""
    return any(faults & Crash(stage, case, bug).run().faults.keys() for _ in range(TRIALS))


@pytest.mark.parametrize("upstream", LOCAL)
def test_a_write_that_is_repeated_is_found(crash_stage: Stage, upstream: str) -> None:
    bug, case, faults = REPEATED
    crash_stage.in_force(upstream)
    assert faults & Crash(crash_stage, replace(case, upstream=upstream), bug).run().faults.keys()


@pytest.mark.long
@pytest.mark.parametrize("upstream", [MCP_HTTP, *LOCAL])
@pytest.mark.parametrize(("bug", "case", "faults"), PLANTED)
def test_a_planted_bug_is_found_over_every_upstream(
    crash_stage: Stage, bug: str, case: Case, faults: set[str], upstream: str
) -> None:
    crash_stage.in_force(upstream)
    assert is_found(crash_stage, replace(case, upstream=upstream), bug, faults)


@pytest.mark.long
@pytest.mark.parametrize("upstream", [MCP_HTTP, *LOCAL])
def test_a_lease_is_outlived_over_every_upstream(crash_stage: Stage, upstream: str) -> None:
    crash_stage.in_force(upstream)
    assert outlive(crash_stage).faults == {}
    assert CONTRADICTED in outlive(crash_stage, planted.IGNORES_LEASES).faults


@pytest.mark.parametrize(("bug", "case", "faults"), PLANTED)
def test_a_planted_bug_is_found(crash_stage: Stage, bug: str, case: Case, faults: set[str]) -> None:
    crash_stage.in_force("http")
    assert faults & Crash(crash_stage, case, bug).run().faults.keys()


def test_a_lease_that_was_outlived_sends_nothing(crash_stage: Stage) -> None:
    crash_stage.in_force("http")
    assert outlive(crash_stage).faults == {}


def test_without_the_fence_it_is_sent_after_a_person_said_that_it_was_not(crash_stage: Stage) -> None:
    crash_stage.in_force("http")
    assert CONTRADICTED in outlive(crash_stage, planted.IGNORES_LEASES).faults
