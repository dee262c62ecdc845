"""What the README tells a new user to type works, word for word but for the port and the database."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.main import application
from tests.commands import Commands
from tests.postgres import TestDatabase

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```(sh|yaml)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
BIN = Path(sys.executable).parent


def _block(marker: str) -> str:
    return next(str(text) for _, text in BLOCKS if marker in text)


@pytest.fixture
def environment(database: TestDatabase, commitgate: Commands, tmp_path: Path) -> dict[str, str]:
    settings = {"COMMITGATE_DATABASE_URL": database.service_url, "COMMITGATE_HOME": str(tmp_path / "home")}
    return {**os.environ, **settings, "PATH": f"{commitgate.shim.parent}:{os.environ['PATH']}"}


@pytest.fixture
def port(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """A gateway as the README starts it, the effect table applied."""
    (tmp_path / "effects.yaml").write_text(_block("# effects.yaml"), encoding="utf-8")
    said = next(line for line in _block("effects apply").splitlines() if "effects apply" in line)
    installed = environment | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-ec", said], cwd=tmp_path, env=installed, check=True, timeout=60)
    command = [str(BIN / "commitgate"), "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as gateway:
        assert gateway.stdout is not None
        try:
            yield str(json.loads(gateway.stdout.readline())["listening"]).rsplit(":", 1)[1]
        finally:
            gateway.terminate()
            assert gateway.wait(30) == 0


def test_the_calls_and_commands_of_the_readme_work(
    port: str, environment: dict[str, str], tmp_path: Path
) -> None:
    assert '"tool":"get_order"' in _said(_curl("/v1/streams/turn-1\n", port), tmp_path, environment)
    look = [line for line in _block("streams show").splitlines() if "resolve" not in line]
    for line in look:
        told = subprocess.run(
            ["bash", "-ec", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert told.returncode == 0, line + told.stdout + told.stderr
    assert "get_order" in _said(look[0], tmp_path, environment)
    prove = _said(_block("ledger export"), tmp_path, environment)
    assert '"ok": false' not in prove
    assert prove.count('"ok": true') == 3
    follow = _said(_curl("text/event-stream", port), tmp_path, environment)
    for part in ("id: 1\n", '"type":"intent.held"', '"checkpoint":', "commitgate_sealing_lag_seconds 0"):
        assert part in follow


def _curl(marker: str, port: str) -> str:
    script = _block(marker).replace("curl -s", "curl -sS --fail-with-body --max-time 20")
    return script.replace(":8700", f":{port}")


def _said(script: str, folder: Path, environment: dict[str, str]) -> str:
    run = subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_every_command_that_the_readme_names_exists() -> None:
    words = set(re.findall(r"commitgate ([a-z]+(?: [a-z]+)?)", "".join(text for _, text in BLOCKS)))
    assert len(words) > 8
    for command in words:
        parts = command.split()
        if parts[0] in {"serve", "worker"}:
            parts = parts[:1]
        assert CliRunner().invoke(application(parts[0]), [*parts, "--help"]).exit_code == 0, command
