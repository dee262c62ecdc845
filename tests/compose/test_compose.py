"""``docker-compose.yml``: the schema takes it, its commands and settings exist, and its roles are what a gateway needs.

Nothing here runs a container. ``compose-spec.json`` is that of github.com/compose-spec/compose-spec, its licence beside it.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from gateway.cli.main import application
from gateway.doctor.examining import Asked, examine
from gateway.doctor.finding import Verdict
from gateway.embedded import EmbeddedPostgres, binaries
from gateway.http.access import ACCESS
from gateway.settings import Settings
from ledger.access.duty import SERVICE_DUTIES, SERVICE_ROLE, Duty
from ledger.access.login import check_login
from ledger.connect import connect
from ledger.migrate import upgrade

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((Path(__file__).parent / "compose-spec.json").read_text(encoding="utf-8"))
FILE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "containers" / "Dockerfile").read_text(encoding="utf-8")
ROLES = ROOT / "containers" / "postgres" / "10-roles.sql"
OURS = {name: service for name, service in FILE["services"].items() if "build" in service}
REFERENCE = re.compile(r"\$\{([A-Z_]+)(?::[?-][^}]*)?\}")


def _faults(file: dict[str, Any]) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(file)]


def test_the_schema_takes_it() -> None:
    assert _faults(FILE) == []


@pytest.mark.parametrize(
    "wrong", [{"comand": ["worker"]}, {"depends_on": {"postgres": {"condition": "service_ready"}}}]
)
def test_the_schema_finds_what_is_wrong(wrong: dict[str, Any]) -> None:
    file = copy.deepcopy(FILE)
    file["services"]["worker"] |= wrong
    assert _faults(file)


def _parses(command: list[str]) -> bool:
    """Whether the words are a command with options that it has: --help is looked at after all others are read."""
    return CliRunner().invoke(application(command[0]), [*command, "--help"]).exit_code == 0


def test_every_command_and_flag_exists() -> None:
    assert {service["command"][0] for service in OURS.values()} == {"db", "keys", "serve", "worker"}
    for service in OURS.values():
        assert _parses(service["command"]), service["command"]
    assert not _parses([*OURS["worker"]["command"], "--no-such-flag"])


def test_every_variable_is_a_setting() -> None:
    named = {name for service in OURS.values() for name in service["environment"]}
    named |= set(re.findall(r"\b(COMMITGATE_[A-Z_]+)=", DOCKERFILE))
    assert len(named) > 5
    for name in named:
        assert name.removeprefix("COMMITGATE_").lower() in Settings.model_fields, name


def test_no_password_stands_in_the_file_and_each_is_made_by_the_script(tmp_path: Path) -> None:
    for service in FILE["services"].values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name:
                assert REFERENCE.fullmatch(value), name
            for password in re.findall(r"://[^:/]+:(.*)@", value):
                assert REFERENCE.fullmatch(password), name
    shutil.copytree(ROOT / "containers", tmp_path / "containers")
    script = ["sh", str(tmp_path / "containers" / "passwords.sh")]
    subprocess.run(script, check=True, capture_output=True)
    made = (tmp_path / ".env").read_text(encoding="utf-8")
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    passwords = dict(line.split("=") for line in made.splitlines())
    assert all(re.fullmatch(r"[0-9a-f]{48}", password) for password in passwords.values())
    assert len(set(passwords.values())) == 3
    needed = {name for name in REFERENCE.findall(json.dumps(FILE)) if "PASSWORD" in name}
    assert needed == set(passwords)
    subprocess.run(script, check=True, capture_output=True)
    assert (tmp_path / ".env").read_text(encoding="utf-8") == made


def test_the_order_is_postgres_migrate_keys_gateway_worker() -> None:
    order = ["postgres", "migrate", "keys", "gateway", "worker"]
    for before, after in itertools.pairwise(order):
        assert set(FILE["services"][after]["depends_on"]) == {before}
    for name in ("postgres", "gateway", "worker"):
        assert FILE["services"][name]["healthcheck"]["test"][0] == "CMD"
    probed = re.findall(r"(/[a-z]+)'", FILE["services"]["gateway"]["healthcheck"]["test"][-1])
    assert probed == ["/readyz"]
    assert ACCESS[("GET", "/readyz")] == frozenset()


def test_volumes_are_declared_and_everyone_who_seals_has_the_key() -> None:
    for name in ("gateway", "worker"):
        service = FILE["services"][name]
        [(volume, target)] = [mount.split(":") for mount in service["volumes"]]
        assert volume in FILE["volumes"]
        assert service["environment"]["COMMITGATE_LEDGER_KEY"].startswith(target + "/")
        assert target in DOCKERFILE  # so that the volume begins as the folder of its user


def test_the_image_holds_what_the_package_is_made_of_and_no_torch() -> None:
    copied = set(re.findall(r"^COPY ([a-z]+) ", DOCKERFILE, re.MULTILINE))
    assert copied == {"effects", "ledger", "decoding", "gateway", "migrations", "bench"}
    assert "decoding]" not in DOCKERFILE
    admitted = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{folder}" for folder in copied} <= set(admitted)


@pytest.fixture
def cluster() -> Iterator[EmbeddedPostgres]:
    """A server without our roles: those of the embedded one are taken away again."""
    home = Path(tempfile.mkdtemp(prefix="cg-"))
    home.chmod(0o755)
    try:
        with EmbeddedPostgres(home) as server:
            with psycopg.connect(_superuser(server, "postgres"), autocommit=True) as admin:
                admin.execute("drop database commitgate")
                for role in ("commitgate_app", "commitgate_service", "commitgate_owner"):
                    admin.execute(f"drop role {role}")
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _superuser(server: EmbeddedPostgres, database: str) -> str:
    return server.server.url("postgres", database, driver="postgresql")


def test_a_gateway_is_well_under_the_roles_of_the_file(cluster: EmbeddedPostgres, tmp_path: Path) -> None:
    psql = next((c.bin / "psql" for c in binaries.candidates() if (c.bin / "psql").is_file()), Path("psql"))
    environment = {"OWNER_PASSWORD": "o'wner", "SERVICE_PASSWORD": "service"}
    script = ["--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-f", str(ROLES), _superuser(cluster, "postgres")]
    done = subprocess.run([psql, *script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = set(re.findall(r"create role (\w+) nologin", ROLES.read_text(encoding="utf-8")))
    assert made == {SERVICE_ROLE, *(duty.role for duty in Duty)}
    upgrade(cluster.server.url("commitgate_owner"))
    url = cluster.server.url("commitgate_app")
    engine = connect(url)
    try:
        assert check_login(engine, SERVICE_DUTIES) == SERVICE_DUTIES
    finally:
        engine.dispose()
    found = list(examine(Asked(Settings(database_url=url, home=tmp_path))))
    assert [one for one in found if one.verdict is Verdict.FAIL] == []
    passed = {one.check for one in found if one.verdict is Verdict.PASS}
    assert {"fsync", "full_page_writes", "login", "schema", "notify"} <= passed
