"""The bench of turns plays what it says, and its judge sees what is wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.server import BenchServer
from bench.turns.arms import ARMS, HOLD, ORACLE, WHOLE
from bench.turns.judging import judged, split
from bench.turns.messages import WINDOW, batches, message
from bench.turns.report import COLUMNS, report
from bench.turns.run import Plan
from ledger.connect import connect
from tests.postgres import TestDatabase

PLAN = Plan(messages=3, at_once=6, latency=0.03, rejected=0.4, ratios=(0.1, 2.0))


def test_every_arm_plays_the_same_messages() -> None:
    per_arm = [
        message(5, name, seed=1, rejected=share) for name, share in (("a", 0.5), ("b", 0.5), ("c", 0.0))
    ]
    shapes = [
        [(call.tool, call.order.partition("/")[2], call.version) for call in one.calls] for one in per_arm
    ]
    assert all(shape == shapes[0] for shape in shapes)
    assert len({len(one.tokens) for one in per_arm}) == 1
    assert [one.drafts == one.tokens for one in per_arm] == [False, False, True]


@pytest.mark.parametrize("rejected", [0.0, 1.0])
def test_the_batches_of_a_message_accept_all_of_its_tokens(rejected: float) -> None:
    one = message(2, "a", seed=3, rejected=rejected)
    accepted: list[str] = []
    drafted: list[str] = []
    for batch in batches(one, whole=False):
        for event in batch.events:
            tokens = [token["text"] for token in event.get("tokens", [])]  # type: ignore[attr-defined]
            if event["type"] == "tokens.drafted":
                assert event["start"] == len(accepted) == batch.emitted
                drafted = tokens
                assert len(drafted) <= WINDOW
            elif event["type"] == "tokens.ruled":
                accepted += drafted[: event["accepted"]]  # type: ignore[misc]
                accepted += [event["token"]["text"]] if "token" in event else []  # type: ignore[index]
            else:
                accepted += tokens
    assert tuple(accepted) == one.tokens
    (whole,) = batches(one, whole=True)
    assert whole.emitted == len(one.tokens)


def test_a_tiny_run_reports_every_cell_without_anomalies(database: TestDatabase, tmp_path: Path) -> None:
    result = report(BenchServer(database.admin_url, database.service_url), PLAN, say=lambda _words: None)
    assert json.loads(json.dumps(result)) == result | {"turns": result["turns"] | {"ratios": [0.1, 2.0]}}
    assert result["wrong"] == []
    assert result["findings"] == {}
    assert [(row["ratio"], row["arm"]) for row in result["rows"]] == [
        (ratio, arm.name) for ratio in PLAN.ratios for arm in ARMS
    ]
    for row in result["rows"]:
        assert row.keys() == set(COLUMNS)
        assert row["turns"] == PLAN.messages
        assert row["anomalies"] == 0
        early = row["early_used"] + row["early_wasted"]
        assert early == 0 or row["arm"] not in (HOLD.name, WHOLE.name)
    assert {row["early_wasted"] for row in result["rows"] if row["arm"] == ORACLE.name} == {0}
    # Where messages are slow, drafts are there long enough; where they are fast, a ruling may be faster than a dispatch.
    assert sum(row["early_used"] + row["early_wasted"] for row in result["rows"]) > 0
    assert result["figures"][1]["reached"]
    # The ledger of the first cell against a log from which a request is missing, and one that it does not know of.
    engine = connect(database.service_url, application_name="test")
    log = tmp_path / "tools.jsonl"
    line = {"tool": "book", "commit_key": "r0-a0:99", "intent_id": "x", "arguments": "{}", "effect": True}
    log.write_text(json.dumps(line) + "\n", encoding="utf-8")
    found = judged(engine, "r0-a0", split(log)["r0-a0"]).findings
    engine.dispose()
    assert found["unknown_to_us"] == 1
    assert sum(found.values()) > PLAN.messages


def test_a_wrong_answer_is_an_anomaly(monkeypatch: pytest.MonkeyPatch, database: TestDatabase) -> None:
    def off_by_one(*told: object, **named: object) -> object:
        one = message(*told, **named)  # type: ignore[arg-type]
        return replace(one, calls=tuple(replace(call, version=call.version + 1) for call in one.calls))

    monkeypatch.setattr("bench.turns.run.message", off_by_one)
    plan = replace(PLAN, messages=1, ratios=(2.0,))
    result = report(BenchServer(database.admin_url, database.service_url), plan, say=lambda _words: None)
    assert [row["anomalies"] for row in result["rows"]] == [4, 4, 4, 4]
    assert not result["figures"][1]["reached"]
