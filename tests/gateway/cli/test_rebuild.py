"""``commitgate ledger rebuild``: what it says while it works, and where it was stopped."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from gateway.cli import main
from ledger import rebuild
from ledger.append import Ledger
from ledger.connect import connect
from tests.ledger.story import opened, these
from tests.postgres import TestDatabase


@pytest.fixture
def three_streams(database: TestDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TestDatabase:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", database.service_url)
    monkeypatch.setenv("COMMITGATE_HOME", str(tmp_path))
    engine = connect(database.service_url)
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    for key in ("a", "b", "c"):
        ledger.append("default", key, these(opened()))
    engine.dispose()
    return database


def spoil(database: TestDatabase) -> None:
    owner = create_engine(database.owner_url)
    with owner.begin() as connection:
        connection.execute(text("update ledger.streams set writer_epoch = 7 where commit_key = 'b'"))
    owner.dispose()


def end(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    monkeypatch.setattr("sys.argv", ["commitgate", "ledger", "rebuild", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.run()
    return ended.value.code


def test_piped_it_tells_differences_and_progress_as_json_lines(
    three_streams: TestDatabase, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(three_streams)
    assert end(monkeypatch, "--check") == 3
    told = capsys.readouterr()
    assert [json.loads(line)["commit_key"] for line in told.out.splitlines()] == ["b"]
    progress = json.loads(next(line for line in told.err.splitlines() if line.startswith("{")))["progress"]
    assert (progress["streams"], progress["events"], progress["of"]) == (3, 3, {"streams": 3, "events": 3})
    assert end(monkeypatch) == 0
    assert end(monkeypatch, "--check") == 0
    assert capsys.readouterr().out == ""


def test_on_a_terminal_it_shows_a_bar_with_a_total(
    three_streams: TestDatabase, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert end(monkeypatch) == 0
    told = capsys.readouterr().err
    assert "rebuilding: 3/3 streams" in told
    assert "3/3" in told.split("streams")[-2] + told.split("streams")[-1]


def test_stopped_it_says_how_to_go_on_and_goes_on_there(
    three_streams: TestDatabase, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = rebuild.rebuild

    def stopped(engine: object, tell: object, **where: object) -> int:
        def once(progress: rebuild.Progress) -> None:
            tell(progress)  # type: ignore[operator]
            if progress.streams == 1:
                raise KeyboardInterrupt

        return whole(engine, once, **where)  # type: ignore[arg-type]

    monkeypatch.setattr(rebuild, "rebuild", stopped)
    assert end(monkeypatch) == 130
    told = capsys.readouterr().err
    assert "stopped behind 1 stream; --after " in told
    monkeypatch.setattr(rebuild, "rebuild", whole)
    assert end(monkeypatch, "--after", told.split("--after ")[1].split()[0]) == 0
    assert "rebuilt 2 streams" in capsys.readouterr().err


def test_a_cursor_that_no_run_gave_is_refused_in_one_line(
    three_streams: TestDatabase, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert end(monkeypatch, "--after", "nonsense") != 0
    assert capsys.readouterr().err.startswith("error: bad_cursor: ")
