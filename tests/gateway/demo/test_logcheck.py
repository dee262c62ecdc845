"""The second opinion on the shop's log, each contradiction with its control."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.demo.logcheck import LogCheck, check_log

Json = dict[str, Any]


def intent(name: str, **members: object) -> Json:
    plain: Json = {
        "commit_key": "turn",
        "intent_id": name,
        "tool": "cancel_order",
        "effect": "WRITE",
        "arguments": {"order_id": "W1"},
        "block": "cleared",
        "state": "settled",
        "attempts": 1,
        "result": {"status": "ok", "content": {}},
    }
    return plain | members


def received(n: int, name: str, arguments: str = '{"order_id": "W1"}') -> Json:
    return {"line": "received", "n": n, "commit_key": "turn", "intent_id": name, "arguments": arguments}


def handled(n: int, effect: bool = True) -> Json:
    return {"line": "handled", "n": n, "effect": effect}


def check(folder: Path, lines: list[Json], *intents: Json) -> LogCheck:
    path = folder / "requests.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return check_log(path, intents)


def test_a_log_that_agrees(tmp_path: Path) -> None:
    read = intent("r", effect="READ_ONLY", tool="get_order")
    refused = intent("x", result={"status": "tool_error", "content": {"error": "wrong_state"}})
    voided = intent("v", block="voided", state="voided", attempts=0, result=None)
    lines = [
        received(1, "w"),
        handled(1),
        received(2, "r"),
        handled(2, False),
        received(3, "x"),
        handled(3, False),
    ]
    found = check(tmp_path, [*lines, received(4, "r"), handled(4, False)], intent("w"), read, refused, voided)
    assert found == LogCheck(writes=2, exactly_once=2, refused=1, mismatches=())


@pytest.mark.parametrize(
    ("lines", "told", "why"),
    [
        ([received(1, "w"), handled(1), received(2, "w"), handled(2)], intent("w"), "asked 2 times"),
        ([], intent("w"), "asked 0 times"),
        ([received(1, "w"), handled(1, False)], intent("w"), "did it 0 times"),
        ([received(1, "w", '{"order_id": "W2"}'), handled(1)], intent("w"), "other arguments"),
        (
            [received(1, "w"), handled(1)],
            intent("w", block="voided", state="voided", attempts=0, result=None),
            "not cleared",
        ),
        ([received(1, "w"), handled(1)], intent("w", effect="READ_ONLY"), "a read changed something"),
        ([received(1, "w"), handled(1), received(2, "other")], intent("w"), "no such call is known"),
    ],
    ids=["twice", "never", "no effect", "other arguments", "voided", "read", "unknown"],
)
def test_a_contradiction_is_found(tmp_path: Path, lines: list[Json], told: Json, why: str) -> None:
    found = check(tmp_path, lines, told)
    assert any(why in mismatch for mismatch in found.mismatches), found.mismatches
