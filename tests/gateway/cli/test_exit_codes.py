"""Exit codes of the command line, and that bad usage is one line with a stable code."""

import pytest
import structlog
import typer
from sqlalchemy.exc import OperationalError

from gateway.cli import main
from ledger.errors import BadDatabaseUrl


def _end(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    monkeypatch.setattr("sys.argv", ["commitgate", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.run()
    return ended.value.code


@pytest.mark.parametrize(
    "arguments",
    [
        ("reconcile", "run", "--no-such-option"),
        ("no-such-command",),
        ("streams", "show"),
        ("serve", "--port", "999999"),
        ("reconcile", "run", "--tool-log", "/no/such/file.jsonl"),
        ("streams", "list", "--format", "no-such-format"),
    ],
)
def test_bad_usage_ends_with_2_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert _end(monkeypatch, *arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: bad_usage: ")
    assert told.count("\n") == 1


def test_bad_settings_were_told_in_a_librarys_words_and_as_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMITGATE_POOL_SIZE", "many")
    monkeypatch.setenv("COMMITGATE_WAKE", "shout")
    assert _end(monkeypatch, "streams", "list") == 2
    assert capsys.readouterr().err == (
        "error: invalid_settings: COMMITGATE_POOL_SIZE: must be an integer;"
        " COMMITGATE_WAKE: must be 'notify' or 'poll'\n"
    )


def test_a_command_named_alone_shows_its_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _end(monkeypatch, "streams") == 2
    told = capsys.readouterr()
    assert "streams" in told.out
    assert told.err == ""


def test_help_ends_with_0(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _end(monkeypatch, "--help") == 0
    assert "Exit codes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("raised", "code"), [(typer.Exit(3), 3), (KeyboardInterrupt(), 130), (typer.Abort(), 130)]
)
def test_what_a_command_ends_with_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int
) -> None:
    app = typer.Typer()

    @app.command()
    def only() -> None:
        raise raised

    monkeypatch.setattr(main, "application", lambda *_names: app)
    assert _end(monkeypatch) == code


@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [
        (FileNotFoundError(2, "No such file or directory", "/x"), 2, "error: file_not_usable: "),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "error: file_not_usable: "),
        (BadDatabaseUrl("no such scheme"), 2, "error: bad_database_url: "),
        (
            OperationalError(None, None, RuntimeError("refused\nIs the server running?")),
            1,
            "error: database_unreachable: refused\n",
        ),
        (ConnectionResetError("gone"), 1, "error: internal_error: gone\n"),
    ],
)
def test_every_failure_is_one_line_with_a_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    raised: Exception,
    code: int,
    told: str,
) -> None:
    app = typer.Typer()

    @app.command()
    def only() -> None:
        raise raised

    monkeypatch.setattr(main, "application", lambda *_names: app)
    assert _end(monkeypatch) == code
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert said.count("\n") == 1


def test_what_a_command_logs_stood_among_what_it_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The embedded Postgres died under a tail that was followed: a line for people came between its JSON lines."""
    structlog.reset_defaults()

    def command(**_how: object) -> None:
        structlog.get_logger("gateway.database").warning("embedded_postgres_died")
        typer.echo("{}")

    monkeypatch.setattr(main, "application", lambda *_names: command)
    assert _end(monkeypatch, "ledger", "tail") == 0
    told = capsys.readouterr()
    assert told.out == "{}\n"
    assert "embedded_postgres_died" in told.err
