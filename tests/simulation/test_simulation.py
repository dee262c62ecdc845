"""Seeds of the simulation: crashes, losses and delays at every turn, and nothing twice, nothing lost, as if one by one.

A seed that fails is told by ``python -m tests.simulation SEED``.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import pytest

from effects import order
from gateway.dispatcher.call import Call
from gateway.dispatcher.leases import Lease
from gateway.dispatcher.worker import Dispatcher
from tests.crash import planted
from tests.processes import ROOT
from tests.simulation.planted import PLANTS
from tests.simulation.run import simulate

LONG = bool(os.environ.get("COMMITGATE_TEST_LONG"))
SEEDS, PIECES = (100_000, 40) if LONG else (1_000, 4)
WITHIN = 200
"""Seeds within which a planted bug is found."""

PROVOKED = (
    "dispatchers killed", "gateways killed", "doubts resolved", "approved", "denied", "tables changed", "pauses", "intent.stale",
    "intent.voided", "intent.adopted", "stream.taken_over", "dispatch.expired", "dispatch.late", "recognised by its key",
    "ended stop", "ended error",
    # probes
    "probed: happened", "probed: not_happened", "probed: unknown",
    # limits, the budget of early reads, and stops
    "refused for rate", "refused for concurrency", "held: budget_spent", "held: speculation_stopped", "speculation stopped",
    "speculation resumed",
    # forks and approvals
    "forks", "asked: fork_repeats", "fork's repetition sent once approved", "approval expired",
)  # fmt: skip
"""Each has to happen in every piece, or the simulation has become blind to it."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("piece", range(PIECES))
def test_nothing_twice_nothing_lost(piece: int, report: Callable[[str], None]) -> None:
    size = SEEDS // PIECES
    counts, wrong = Counter[str](), []
    for seed in range(piece * size, (piece + 1) * size):
        told = simulate(seed)
        counts.update(told.counts)
        if told.faults:
            wrong.append(f"python -m tests.simulation {seed}: {told.faults}")
    report(f"simulation: seeds {piece * size} to {(piece + 1) * size - 1}, {dict(sorted(counts.items()))}")
    assert wrong == []
    assert [name for name in PROVOKED if not counts[name]] == []


@pytest.mark.parametrize("hashing", ["1", "2"])
def test_a_seed_takes_the_same_course_in_every_process(hashing: str) -> None:
    seed = 129
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashing},
        capture_output=True,
        text=True,
        check=True,
    )
    story = simulate(seed, tell=True).story
    assert len(story) > 40
    assert done.stdout.splitlines()[: len(story)] == story


PLACES = {
    planted.SENDS_BEFORE_RECORDING: (Dispatcher, "_dispatch"),
    planted.IGNORES_LEASES: (Lease, "holds"),
    planted.REPEATS_WRITES: (Call, "_may_repeat"),
    planted.IGNORES_ORDER: (order, "earlier_terminal"),
}


@pytest.mark.parametrize("bug", [*PLACES, "takes every answer for fresh", *PLANTS])
def test_a_planted_bug_is_found(
    bug: str, monkeypatch: pytest.MonkeyPatch, report: Callable[[str], None]
) -> None:
    if bug in PLANTS:
        PLANTS[bug](monkeypatch)
    elif bug in PLACES:
        place, name = PLACES[bug]
        monkeypatch.setattr(place, name, getattr(place, name))
        planted.plant(bug)
    else:
        monkeypatch.setattr(order, "overtaken_by", lambda _read, _others: None)
    found = next((seed for seed in range(WITHIN) if simulate(seed).faults), None)
    report(f"simulation, a process that {bug}: found by seed {found}")
    assert found is not None
