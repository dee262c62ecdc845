"""``commitgate keys`` on a real database, and what ``serve`` makes of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.apikey import ApiKey
from gateway.cli import main
from gateway.principal import Role
from gateway.service.keyring import Keyring
from gateway.wiring import utc_now
from ledger.connect import connect
from tests.postgres import TestDatabase

Run = Callable[..., tuple[int | str | None, list[dict[str, object]], str]]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    database: TestDatabase,
    tmp_path: Path,
) -> Run:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", database.service_url)
    monkeypatch.setenv("COMMITGATE_MIGRATION_DATABASE_URL", database.owner_url)
    monkeypatch.setenv("COMMITGATE_HOME", str(tmp_path))

    def run(*words: str) -> tuple[int | str | None, list[dict[str, object]], str]:
        monkeypatch.setattr("sys.argv", ["commitgate", *words])
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


def test_a_key_is_shown_once_and_works_until_it_is_revoked(run: Run, database: TestDatabase) -> None:
    code, [made], _ = run(
        "keys",
        "create",
        "--role",
        "runtime",
        "--role",
        "decoder",
        "--tenant",
        "shop",
        "--label",
        "x",
        "--expires",
        "30d",
    )
    assert code == 0
    key = ApiKey.parse(str(made["key"]))
    assert key is not None
    assert (made["roles"], made["tenant"], made["state"]) == (["decoder", "runtime"], "shop", "good")
    engine = connect(database.service_url)
    ring = Keyring(engine, utc_now)
    principal = ring.authenticate(f"Bearer {key.text}")
    assert (principal.tenant, principal.roles) == ("shop", {Role.RUNTIME, Role.DECODER})
    ring.close()
    engine.dispose()
    _, [listed], _ = run("keys", "list")
    assert listed["id"] == key.id
    assert key.secret not in json.dumps(listed)
    assert run("keys", "revoke", key.id)[0] == 0
    assert run("keys", "list")[1][0]["state"] == "revoked"


def test_what_is_wrong_is_said_with_a_code(run: Run) -> None:
    code, _, told = run("keys", "revoke", "nothing")
    assert code == 2
    assert "unknown_key" in told
    assert run("keys", "create", "--role", "king")[0] == 2
    assert run("keys", "create", "--role", "admin", "--expires", "soon")[0] == 2
    assert run("keys", "create")[0] == 2


def test_no_gateway_is_open_to_other_machines(run: Run) -> None:
    code, _, told = run("serve", "--host", "0.0.0.0", "--port", "0", "--no-dispatch")
    assert code == 1
    assert "open_refused" in told


def test_a_tenant_that_is_no_name_was_told_of_the_setting_and_not_of_the_option(run: Run) -> None:
    code, _, told = run("keys", "create", "--role", "runtime", "--tenant", "the shop")
    assert (code, told.startswith("error: invalid_request: --tenant: must match ")) == (2, True)
