"""Fail points: refused where nobody tests, and nothing at all where nobody asks."""

import os
import subprocess

import pytest

from gateway import failpoints
from gateway.errors import FailPointsRefused
from gateway.failpoints import FAIL_AT, SWITCH, FailPoint
from tests import processes


@pytest.mark.parametrize(
    "environ",
    [
        {FAIL_AT: "sending"},
        {FAIL_AT: "sending", SWITCH: "yes"},
        {FAIL_AT: "nowhere", SWITCH: "1"},
        {FAIL_AT: "sending:often", SWITCH: "1"},
    ],
)
def test_what_is_not_a_test_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(FailPointsRefused):
        failpoints.arm(environ)
    failpoints.reached(FailPoint.SENDING)


def test_a_process_that_is_told_to_end_refuses_to_start() -> None:
    environ = {**os.environ, FAIL_AT: "sending"}
    done = subprocess.run(
        processes.commitgate("worker"), env=environ, cwd=processes.ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: fail_points_refused: ")


def test_a_point_is_met_at_its_number_only() -> None:
    met = failpoints._Armed(FailPoint.SENDING, 3, None)
    ended: list[FailPoint] = []
    met._end = lambda: ended.append(FailPoint.SENDING)  # type: ignore[method-assign]
    for point in (FailPoint.SENDING, FailPoint.CLAIM_DECIDED, FailPoint.SENDING):
        met.meet(point)
    assert ended == []
    met.meet(FailPoint.SENDING)
    met.meet(FailPoint.SENDING)
    assert ended == [FailPoint.SENDING]
