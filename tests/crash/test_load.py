"""Two gateways and four dispatchers on one ledger under load, one dispatcher killed every second (``make test-long``)."""

from collections.abc import Callable

import pytest

from tests.crash.load import Load
from tests.crash.stage import Stage

SECONDS = 60.0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_one_killed_every_second(crash_stage: Stage, report: Callable[[str], None]) -> None:
    crash_stage.in_force("http")
    with Load(crash_stage, seed=1) as load:
        load.run(SECONDS)
        at_rest = load.judged()
        load.resolve()
        over = load.judged(resolved=True)
    report(
        f"load for {SECONDS:.0f} s: {dict(load.kills)} killed, {len(load.turns)} messages, {dict(at_rest.counts)}, "
        f"doubts {dict(load.resolved)}, faults at rest: {at_rest}; after resolutions: {over}"
    )
    assert at_rest.faults == {}
    assert over.faults == {}
    assert load.kills["dispatchers"] > SECONDS / 2
    assert load.kills["gateways"] > 0
