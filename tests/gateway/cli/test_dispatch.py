"""``commitgate dispatch`` over a real ledger."""

import json

import pytest

from gateway.cli import main
from gateway.principal import everyone
from gateway.wiring import wire
from ledger.connect import connect
from tests.postgres import TestDatabase

TABLE = """tools:
  pay: {effect: WRITE, limits: {rate: 10/min, concurrency: 2}, upstream: {http: 'http://127.0.0.1:9/pay'}}
"""


def test_pauses_shows_and_resumes(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", database.service_url)
    engine = connect(database.service_url)
    wire(engine).tables.apply(everyone("default"), TABLE)
    engine.dispose()

    def run(*arguments: str) -> tuple[object, list[dict[str, object]], str]:
        monkeypatch.setattr("sys.argv", ["commitgate", "dispatch", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.run()
        told = capsys.readouterr()
        return ended.value.code, [json.loads(line) for line in told.out.splitlines()], told.err

    code, [paused, limits], _ = run("pause", "pay", "--reason", "fire", "--format", "json")
    assert (code, paused["what"], paused["tool"], paused["by"], paused["reason"]) == (
        0, "paused", "pay", "cli", "fire",
    )  # fmt: skip
    assert (limits["what"], limits["rate"], limits["concurrency"]) == ("limits", "10/min", 2)
    code, shown, _ = run("status", "--format", "json")
    assert (code, shown) == (0, [paused, limits])
    code, [left], _ = run("resume", "pay", "--format", "json")
    assert (code, left["what"]) == (0, "limits")
    code, _, told = run("resume", "--format", "json")
    assert (code, told.strip()) == (0, "sending as a whole was not paused by name: nothing changed")
    code, rows, told = run("pause", "pya")
    assert (code, rows) == (2, [])
    assert told.startswith("error: unknown_tool: ")
