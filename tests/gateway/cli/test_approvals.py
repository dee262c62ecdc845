"""``commitgate approvals`` over a real ledger."""

import json
from typing import Any

import pytest

from gateway.cli import main
from gateway.principal import everyone
from gateway.turn.opening import StreamTerms
from gateway.turn.tokens import TokenEvent
from gateway.wiring import wire
from ledger.connect import connect
from ledger.events import EventType
from tests.postgres import TestDatabase

TABLE = "tools: {pay: {effect: WRITE, writes: [], approval: 'amount > 1', upstream: {http: 'http://127.0.0.1:9/pay'}}}"
CALL = '<tool_call>{"name": "pay", "arguments": {"amount": 2}}</tool_call>'


@pytest.fixture
def waiting(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls that wait, ``k1`` and ``k2``, in the database that commands are pointed to."""
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", database.service_url)
    engine = connect(database.service_url)
    wired, caller = wire(engine), everyone("default")
    wired.tables.apply(caller, TABLE)
    for key in ("k1", "k2"):
        wired.streams.open(caller, key, StreamTerms(source="detected"))
        accepted = TokenEvent(EventType.TOKENS_ACCEPTED, {"round": 0, "tokens": [{"text": CALL}]})
        wired.streams.write(caller, key, 1, [accepted])
    engine.dispose()


def test_lists_approves_and_denies(
    waiting: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> tuple[object, list[dict[str, Any]], str]:
        monkeypatch.setattr("sys.argv", ["commitgate", "approvals", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.run()
        told = capsys.readouterr()
        return ended.value.code, [json.loads(line) for line in told.out.splitlines()], told.err

    code, [second, first], _ = run("list", "--format", "json")
    assert (code, first["commit_key"], second["commit_key"]) == (0, "k1", "k2")
    assert (first["reason"], first["arguments"]) == ("condition", {"amount": 2})

    other = "sha256:" + "0" * 64
    code, shown, told = run("approve", "k1", first["intent_id"], "--definition", other)
    assert (code, shown) == (1, [])
    assert told.startswith("error: approval_of_other_definition: ")
    seen = ("--definition", first["asked"]["definition"])
    code, [approved], _ = run(
        "approve", "k1", first["intent_id"], *seen, "--note", "fine", "--format", "json"
    )
    assert (code, approved["state"], approved["approval"]["note"]) == (0, "released", "fine")
    code, shown, told = run("approve", "k1", first["intent_id"])
    assert (code, shown) == (1, [])
    assert told.startswith("error: not_awaiting_approval: ")
    assert told.count("\n") == 1

    code, _, told = run("deny", "k2", second["intent_id"], "--reason", "no", "--arguments-digest", other)
    assert code == 1
    assert told.startswith("error: approval_of_other_arguments: ")
    code, [denied], _ = run("deny", "k2", second["intent_id"], "--reason", "no", "--format", "json")
    assert (code, denied["state"], denied["reason"]) == (0, "denied", "no")
    assert run("list", "--format", "json") == (0, [], "")
    assert run("deny", "k2", "int_0", "--reason", "no")[0] == 2
