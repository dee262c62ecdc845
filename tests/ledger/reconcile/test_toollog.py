"""Reconciliation with its third side: what a tool's own log says happened."""

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from effects.intent import ResultStatus
from ledger.errors import ToolLogRefused
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.logfile import read_log
from ledger.reconcile.run import Options, Reconciliation, run
from ledger.reconcile.toollog import ToolLog
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn, find_blocks

K = FindingKind
Line = dict[str, object]


@pytest.fixture
def turn(ledger, tenant) -> LiveTurn:
    """An early read that was used, one that was wasted, a WRITE and an IDEMPOTENT call, all over."""
    turn = LiveTurn(ledger, tenant, "turn-1")
    turn.draft(spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    wasted = turn.draft(" " + spell("read", name="b"))
    turn.call("read")
    turn.rule(wasted, 1)
    turn.say(spell("create", name="c") + spell("put", name="d"))
    turn.call("create")
    turn.call("put")
    turn.finish()
    return turn


def logged(turn: LiveTurn, tool: str, nth: int = -1, **changed: object) -> Line:
    """How an honest tool logs this call."""
    intent = turn.intent(tool, nth)
    line: Line = {
        "tool": tool,
        "commit_key": turn.key,
        "intent_id": intent.intent_id,
        "idempotency_key": intent.idempotency_key,
        "arguments": intent.arguments_raw,
        "effect": tool != "read",
    }
    return line | changed


def honest(turn: LiveTurn) -> list[Line]:
    reads = [logged(turn, "read", 0), logged(turn, "read", 1)]
    return [*reads, logged(turn, "create"), logged(turn, "put")]


@pytest.fixture
def reconcile(engine, tenant, tmp_path):
    def reconcile(
        lines: list[Line], *, complete: bool = True, whose: str | None = tenant, **options
    ) -> tuple[list[Finding], Reconciliation]:
        path = tmp_path / "log.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        with ToolLog(path, complete=complete) as log:
            found = run(
                engine,
                whose,
                Options(**options),
                now=datetime.now(UTC),
                find_blocks=find_blocks,
                tool_log=log,
            )
            return list(found.findings), found

    return reconcile


def kinds(findings: list[Finding]) -> list[FindingKind]:
    return [finding.kind for finding in findings]


def test_an_honest_log_has_no_findings(turn, reconcile):
    findings, found = reconcile(honest(turn))
    assert findings == []
    assert found.summary.log_entries == 4


def test_names_may_be_left_out_of_a_log(turn, reconcile):
    lines = [logged(turn, "create"), logged(turn, "put")]
    by_key = [{k: v for k, v in line.items() if k in ("tool", "idempotency_key")} for line in lines]
    assert reconcile(by_key, complete=False)[0] == []
    by_intent = [{k: v for k, v in line.items() if k in ("tool", "intent_id")} for line in honest(turn)]
    assert reconcile(by_intent)[0] == []


def test_arguments_are_compared_as_json(turn, reconcile):
    as_object = logged(turn, "create", arguments={"name": "c"})
    spaced = logged(turn, "put", arguments='{ "name" : "d" }')
    assert reconcile([as_object, spaced], complete=False)[0] == []


def test_other_arguments_are_a_mismatch(turn, reconcile):
    lines = [*honest(turn)[:-1], logged(turn, "put", arguments='{"name": "x"}')]
    findings, _ = reconcile(lines)
    assert [(f.kind, f.log_line, f.tool) for f in findings] == [(K.ARGUMENT_MISMATCH, 4, "put")]


def test_a_write_that_happened_twice_is_a_duplicate(turn, reconcile):
    assert kinds(reconcile([*honest(turn), logged(turn, "create")])[0]) == [K.DUPLICATE]


@pytest.mark.parametrize("tool", ["put", "read"])
def test_other_calls_may_happen_again(turn, reconcile, tool):
    assert reconcile([*honest(turn), logged(turn, tool)])[0] == []


def test_a_request_that_the_tool_did_not_act_on_is_no_duplicate(turn, reconcile):
    assert reconcile([*honest(turn), logged(turn, "create", effect=False)])[0] == []


def test_a_call_under_another_commit_key_diverges(turn, reconcile):
    lines = [*honest(turn)[:2], logged(turn, "create", commit_key="other"), logged(turn, "put")]
    findings, _ = reconcile(lines)
    assert [(f.kind, f.commit_key, f.log_line) for f in findings] == [(K.KEY_DIVERGENCE, "turn-1", 3)]
    # Asked about the other key alone, it is still not unknown: it belongs elsewhere.
    scoped, _ = reconcile(lines, commit_key="other", complete=False)
    assert kinds(scoped) == [K.KEY_DIVERGENCE]


def test_a_call_under_another_idempotency_key_diverges(turn, reconcile):
    lines = [*honest(turn)[:3], logged(turn, "put", idempotency_key="cg1-other")]
    assert kinds(reconcile(lines)[0]) == [K.KEY_DIVERGENCE]


@pytest.mark.parametrize(
    "changed",
    [
        {"intent_id": "int_nobody", "idempotency_key": None},
        {"commit_key": "nobody", "intent_id": "int_nobody"},
        {"commit_key": None, "intent_id": None, "idempotency_key": None},
        {"intent_id": None, "idempotency_key": None},
    ],
)
@pytest.mark.parametrize("everybody", [True, False])
def test_what_only_the_tool_knows_is_unknown_to_us(turn, reconcile, tenant, changed, everybody):
    lines = [*honest(turn), logged(turn, "create", **changed)]
    findings, _ = reconcile(lines, whose=None if everybody else tenant, complete=False)
    assert [f.log_line for f in findings if f.kind is K.UNKNOWN_TO_US] == [5]


def test_a_call_that_we_never_dispatched_is_unknown_to_us(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("create", name="a"))
    assert kinds(reconcile([logged(turn, "create")])[0]) == [K.UNKNOWN_TO_US]


def test_a_call_that_we_recorded_as_unsent_is_unknown_to_us(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.settle("create", status=ResultStatus.UNAVAILABLE, unsent=True)
    turn.finish()
    assert reconcile([])[0] == []
    assert kinds(reconcile([logged(turn, "create")])[0]) == [K.UNKNOWN_TO_US]


def test_what_a_complete_log_lacks_is_missing_at_the_tool(turn, reconcile):
    lines = [line for line in honest(turn) if line["tool"] != "create"]
    findings, _ = reconcile(lines)
    assert [(f.kind, f.tool) for f in findings] == [(K.MISSING_AT_TOOL, "create")]
    assert reconcile(lines, complete=False)[0] == []


def test_a_log_that_contradicts_a_resolution_is_late_evidence(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.lose("create")
    turn.resolve("create", happened=False)
    turn.finish()
    assert reconcile([])[0] == []
    assert kinds(reconcile([logged(turn, "create")])[0]) == [K.LATE_EVIDENCE]


def test_entries_of_streams_out_of_scope_are_passed_over(turn, ledger, tenant, reconcile):
    other = LiveTurn(ledger, tenant, "turn-2")
    other.say("Nothing.")
    assert reconcile(honest(turn), commit_key="turn-2")[0] == []
    assert reconcile(honest(turn), since=datetime.now(UTC))[0] == []


def test_the_log_of_the_example_shop_is_understood(turn, reconcile):
    """Two lines for a request, as examples/shop/request_log.py writes them."""
    lines: list[Line] = []
    for n, call in enumerate(honest(turn), 1):
        effect = call.pop("effect")
        lines.append({"line": "received", "n": n, "at": 1.5, "traceparent": None, **call})
        lines.append({"line": "handled", "n": n, "at": 1.6, "tool": call["tool"], "effect": effect})
    assert reconcile(lines)[0] == []
    again = [{**lines[4], "n": 9}, {"line": "handled", "n": 9, "effect": False, "replayed": True}]
    assert reconcile([*lines, *again])[0] == []
    twice = [{**lines[4], "n": 9}, {"line": "handled", "n": 9, "effect": True}]
    assert kinds(reconcile([*lines, *twice])[0]) == [K.DUPLICATE]
    cut_off = [{**lines[4], "n": 9}]
    assert kinds(reconcile([*lines, *cut_off])[0]) == [K.DUPLICATE]


def test_csv_is_read_as_well(turn, engine, tenant, tmp_path):
    path = tmp_path / "log.csv"
    with path.open("w", newline="") as file:
        rows = csv.DictWriter(file, [*logged(turn, "create"), "at"])
        rows.writeheader()
        rows.writerows(line | {"at": "2026-01-01T00:00:00Z"} for line in honest(turn))
        rows.writerow(logged(turn, "create", intent_id="int_nobody", idempotency_key="", at=""))
    with ToolLog(path, complete=True) as log:
        found = run(engine, tenant, Options(), now=datetime.now(UTC), find_blocks=find_blocks, tool_log=log)
        assert kinds(list(found.findings)) == [K.UNKNOWN_TO_US]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.jsonl", b"{}\nno json\n", 2),
        ("a.jsonl", b'["tool"]\n', 1),
        ("a.jsonl", b'{"tool": 1}\n', 1),
        ("a.jsonl", b'{"tool": "t", "effect": "perhaps"}\n', 1),
        ("a.jsonl", b'{"tool": "t", "at": "yesterday"}\n', 1),
        ("a.jsonl", b'{"tool": "t", "at": "2026-01-01T00:00:00"}\n', 1),
        ("a.jsonl", b'"\xff"\n', 1),
        ("a.csv", b"when,what\n1,2\n", None),
        ("a.csv", b"tool,effect\nt,\xff\n", None),
        ("a.csv", b'tool,effect\n"t\n', None),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(tmp_path, name, content, line):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ToolLogRefused) as refused:
        ToolLog(path)
    assert (refused.value.line, refused.value.code) == (line, "tool_log_refused")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ToolLogRefused):
        ToolLog(tmp_path / "none.jsonl")


def test_a_half_line_at_the_end_is_passed_over(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"tool": "t"}\n\n{"tool": "u"}\n{"tool": "v')
    assert [line.entry.tool for line in read_log(path)] == ["t", "u"]


@pytest.fixture(autouse=True)
def _no_working_copy_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    working = tmp_path / "working"
    working.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(working))
    yield
    assert list(working.iterdir()) == []
