"""``commitgate effects`` over a real ledger."""

import json
from pathlib import Path

import pytest

from gateway.cli import main
from tests.postgres import TestDatabase

TABLE = """tools:
  pay: {effect: WRITE, upstream: {http: 'http://127.0.0.1:9/pay'}}
"""


def test_a_history_of_nothing_was_an_empty_success(
    database: TestDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", database.service_url)
    file = tmp_path / "effects.yaml"
    file.write_text(TABLE)

    def run(*arguments: str) -> tuple[object, list[dict[str, object]], str]:
        monkeypatch.setattr("sys.argv", ["commitgate", "effects", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.run()
        told = capsys.readouterr()
        return ended.value.code, [json.loads(line) for line in told.out.splitlines()], told.err

    code, rows, told = run("history")
    assert (code, rows, told) == (
        2, [], "error: no_effect_table: no effect table was ever in force in tenant 'default'\n",
    )  # fmt: skip
    code, _, told = run("apply", str(file))
    assert (code, told) == (0, "version 1 is in force: 1 tool\n")
    for arguments in ((), ("pay",)):
        code, [row], _ = run("history", *arguments)
        assert (code, row["version"], list(row["tools"])) == (0, 1, ["pay"])  # type: ignore[call-overload]
    code, rows, told = run("history", "nope")
    assert (code, rows, told) == (2, [], "error: unknown_tool: no effect table so far had a tool 'nope'\n")

    monkeypatch.setenv("COMMITGATE_TENANT", "another")
    assert run("history", "pay")[0] == 2
