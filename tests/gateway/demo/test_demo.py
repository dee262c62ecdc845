"""``commitgate demo`` as a stranger runs it: real processes, real models, a pipe instead of a terminal."""

from __future__ import annotations

import signal
from collections import defaultdict

import pytest

from tests.gateway.demo.running import PATIENCE_S, Line, running


def gapless(lines: list[Line]) -> dict[str, int]:
    """The number of events of each stream, whose seqs count from 1 without a gap."""
    seqs = defaultdict(list)
    for line in lines:
        if "seq" in line:
            seqs[line["commit_key"]].append(line["seq"])
    for key, found in seqs.items():
        assert found == list(range(1, len(found) + 1)), key
    return {key: len(found) for key, found in seqs.items()}


def test_a_run_of_two_turns_is_told_proven_and_leaves_nothing() -> None:
    with running("--turns", "2") as demo:
        lines, errors = demo.rest()
        assert demo.process.returncode == 0, errors
        assert "Traceback" not in errors
        assert demo.left() == {}
        assert demo.homes() == []
    types = [line["type"] for line in lines]
    assert types[0] == "demo.stage"
    assert types[-1] == "demo.summary"
    assert types.count("demo.turn") == 2
    assert types.count("demo.message") == types.count("stream.finished") == len(gapless(lines)) == 4
    assert {"tokens.drafted", "tokens.ruled", "intent.held", "intent.final", "block.cleared"} <= set(types)
    summary = lines[-1]
    assert (summary["turns"], summary["messages"], summary["anomalies"]) == (2, 4, 0)
    assert summary["findings"] == {}
    assert summary["mismatches"] == []
    writes = summary["writes"]
    assert writes["sent"] == writes["exactly_once"] > 0
    assert len(summary["tokens"]) == 2
    for counts in summary["tokens"].values():
        assert counts["drafted"] == counts["accepted"] + counts["rejected"] + counts["unreached"] > 0


@pytest.mark.parametrize(
    "number",
    # Ending in order is tried below, while it starts; here what is left where there is no order.
    [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL],
    ids=lambda number: number.name,
)
def test_ended_in_the_middle_it_leaves_no_process(number: signal.Signals) -> None:
    with running("--turns", "5") as demo:
        demo.lines_until("tokens.ruled")
        # The demonstration, the shop, the gateway, the database's guardian, the database.
        assert len(demo.left()) >= 5
        demo.process.send_signal(number)
        demo.process.communicate(timeout=PATIENCE_S)
        assert demo.process.returncode == (130 if number == signal.SIGINT else -number)
        assert demo.nothing_left(5), demo.left()
        if number == signal.SIGINT:
            assert demo.homes() == []


def test_ended_while_it_starts_it_leaves_no_process() -> None:
    with running() as demo:
        demo.lines_until("demo.stage")
        demo.process.send_signal(signal.SIGTERM)
        _, errors = demo.process.communicate(timeout=PATIENCE_S)
        assert demo.process.returncode == 128 + signal.SIGTERM, errors
        assert "Traceback" not in errors
        assert demo.nothing_left(5), demo.left()
        assert demo.homes() == []


def test_a_model_that_is_not_there_is_named_and_nothing_is_left() -> None:
    with running("--model", "/no/such/model") as demo:
        _, errors = demo.rest()
        assert demo.process.returncode == 1
        assert "model_not_loadable" in errors
        assert "/no/such/model" in errors
        assert "Traceback" not in errors
        assert demo.left() == {}


def test_several_branches_are_refused() -> None:
    with running("--branches", "2") as demo:
        lines, errors = demo.rest()
    assert demo.process.returncode == 2
    assert lines == []
    assert "not_supported" in errors
