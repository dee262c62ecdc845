"""``commitgate intents`` over a real ledger."""

import json

import pytest

from gateway.cli import main
from gateway.principal import everyone
from gateway.turn.finished_call import FinishedCall
from gateway.wiring import wire
from ledger.connect import connect
from tests.postgres import TestDatabase

TABLE = """tools:
  pay: {effect: WRITE, upstream: {http: 'http://127.0.0.1:9/pay'}}
  look: {effect: READ_ONLY, upstream: {http: 'http://127.0.0.1:9/look'}}
"""


def test_lists_why_a_call_is_not_sent_and_shows_it_in_both_formats(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", database.service_url)
    engine, caller = connect(database.service_url), everyone("default")
    wired = wire(engine)
    wired.tables.apply(caller, TABLE)
    calls = wired.finished_calls
    _, paid, _ = calls.call(caller, "one", FinishedCall("pay", {"sum": 1}))
    calls.call(caller, "two", FinishedCall("look", {}))
    wired.braking.pause(caller, "pay", reason="fire")
    engine.dispose()

    def run(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["commitgate", "intents", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.run()
        assert ended.value.code == 0
        return capsys.readouterr().out

    rows = [json.loads(line) for line in run("list", "--state", "released", "--format", "json").splitlines()]
    assert {row["commit_key"]: row["reason"] for row in rows} == {"one": "paused", "two": None}
    shown = json.loads(run("show", "one", paid, "--format", "json"))
    assert (shown["arguments"], shown["reason"]) == ({"sum": 1}, "paused")
    table = run("show", "one", paid, "--format", "table")
    assert [line.split()[0] for line in table.splitlines()] == list(shown)
    assert '{"sum": 1}' in table
