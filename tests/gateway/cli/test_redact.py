"""``commitgate ledger redact`` on a real database, under the two logins that it needs."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.cli import main
from ledger.access.duty import Duty
from ledger.append import Ledger
from ledger.connect import connect
from ledger.redaction.purging import Purger
from tests.ledger.redaction.secret import SecretTurn, hits, recorded, secret_turn
from tests.ledger.roles.logins import Login, logins
from tests.postgres import TestDatabase

Run = Callable[..., tuple[int | str | None, list[dict[str, object]], str]]


@pytest.fixture(scope="module")
def people(module_database: TestDatabase) -> Iterator[dict[str, Login]]:
    with logins(module_database) as made:
        yield made


@pytest.fixture
def turn(module_database: TestDatabase, request: pytest.FixtureRequest) -> Iterator[SecretTurn]:
    engine = connect(module_database.service_url)
    tenant = f"redact-{abs(hash(request.node.name))}"
    yield secret_turn(Ledger(engine, clock=lambda: datetime.now(UTC)), engine, tenant)
    engine.dispose()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module_database: TestDatabase,
    people: dict[str, Login],
    turn: SecretTurn,
    tmp_path: Path,
) -> Run:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", module_database.service_url)
    monkeypatch.setenv("COMMITGATE_REDACTION_DATABASE_URL", people[Duty.REDACTOR].url)
    monkeypatch.setenv("COMMITGATE_TENANT", turn.tenant)
    monkeypatch.setenv("COMMITGATE_HOME", str(tmp_path))

    def run(*words: str) -> tuple[int | str | None, list[dict[str, object]], str]:
        monkeypatch.setattr("sys.argv", ["commitgate", "ledger", "redact", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run()
        told = capsys.readouterr()
        return (
            ended.value.code,
            [json.loads(line) for line in told.out.splitlines() if line.strip()],
            told.err,
        )

    return run


def test_it_takes_away_and_says_what(run: Run, turn: SecretTurn, module_database: TestDatabase) -> None:
    meant = turn.intent("create")
    assert hits(module_database.admin_url, turn.tenant)
    code, [row], told = run(turn.key, meant.intent_id, "--reason", "asked for", "--yes", "--format", "json")
    assert code == 0
    assert meant.intent_id in told
    assert row["payloads"] == len(turn.state.redacted)
    assert meant.intent_id in row["intents"]
    assert hits(module_database.admin_url, turn.tenant) == {}
    event = turn.events[-1]
    assert (event.payload["by"], event.payload["reason"]) == ("cli", "asked for")
    code, [row], _ = run(turn.key, meant.intent_id, "--reason", "asked for", "--format", "json")
    assert (code, row["payloads"]) == (0, 0)


def test_without_a_yes_nothing_happens(run: Run, turn: SecretTurn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    seq = turn.state.seq
    code, rows, said = run(turn.key, turn.intent("create").intent_id, "--reason", "asked for")
    assert (code, rows, turn.state.seq) == (130, [], seq), said


def test_what_was_broken_off_is_listed_and_finished(
    run: Run, turn: SecretTurn, people: dict[str, Login]
) -> None:
    recorded(turn)
    code, [row], _ = run("--pending", "--format", "json")
    assert (code, row["commit_key"], row["left"]) == (0, turn.key, len(turn.state.redacted))
    code, _, told = run("--pending", "--yes", "--format", "json")
    assert code == 0
    assert f"{row['left']} payloads taken away" in told
    assert run("--pending", "--format", "json")[:2] == (0, [])
    with people[Duty.REDACTOR].engine() as engine:
        assert Purger(engine).pending(turn.tenant) == []


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 2, "invalid_request"),
        (("turn-1", "int_x", "--yes"), 2, "invalid_request"),
        (("turn-1", "int_x", "--reason", " "), 2, "invalid_request"),
        (("turn-1", "int_x", "--reason", "r" * 3000), 2, "invalid_request"),
        (("turn-1", "--reason", "r"), 2, "invalid_request"),
        (("turn-1", "int_x", "--pending"), 2, "invalid_request"),
        (("nothing", "int_x", "--reason", "r"), 2, "unknown_commit_key"),
        (("turn-1", "int_x", "--reason", "r"), 2, "unknown_intent"),
        (("_effects", "int_x", "--reason", "r"), 1, "redaction_reserved_stream"),
    ],
)
def test_what_cannot_be_is_one_line_with_a_code(
    run: Run, words: tuple[str, ...], code: int, told: str
) -> None:
    ended, rows, said = run(*words)
    assert (ended, rows) == (code, [])
    assert said.startswith(f"error: {told}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Duty.WRITER, "missing_database_privileges"), ("service", "unsafe_database_login"), (None, None)],
)
def test_another_login_does_not_even_record_it(
    run: Run,
    turn: SecretTurn,
    people: dict[str, Login],
    monkeypatch: pytest.MonkeyPatch,
    kind: str | None,
    told: str | None,
) -> None:
    if kind is None:
        monkeypatch.delenv("COMMITGATE_REDACTION_DATABASE_URL")
    else:
        monkeypatch.setenv("COMMITGATE_REDACTION_DATABASE_URL", people[kind].url)
    seq = turn.state.seq
    code, _, said = run(turn.key, turn.intent("create").intent_id, "--reason", "asked for", "--yes")
    assert (code, turn.state.seq) == (1 if kind else 2, seq)
    if kind is None:
        # It said in three thousand characters what the services' login may do, and not that a setting is missing.
        assert said.startswith("error: invalid_request: COMMITGATE_REDACTION_DATABASE_URL is not set: ")
        assert len(said) < 250
    else:
        assert said.startswith(("error: unsafe_database_login: ", "error: missing_database_privileges: "))
