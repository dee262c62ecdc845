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
from tests.postgres import TestDatabase

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```(sh|yaml)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
BIN = Path(sys.executable).parent


def _block(marker: str) -> str:
    return next(str(text) for _, text in BLOCKS if marker in text)


@pytest.fixture
def environment(database: TestDatabase) -> dict[str, str]:
    path = f"{BIN}:{os.environ['PATH']}"
    return {**os.environ, "COMMITGATE_DATABASE_URL": database.service_url, "PATH": path}


@pytest.fixture
def port(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """A gateway as the README starts it, the effect table applied."""
    (tmp_path / "effects.yaml").write_text(_block("# effects.yaml"), encoding="utf-8")
    said = next(line for line in _block("effects apply").splitlines() if "effects apply" in line)
    subprocess.run(["bash", "-ec", said], cwd=tmp_path, env=environment, check=True, timeout=60)
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
    script = _block("curl -s").replace("curl -s", "curl -sS --fail-with-body").replace(":8700", f":{port}")
    run = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert '"tool":"get_order"' in run.stdout
    look = [line for line in _block("streams show").splitlines() if "resolve" not in line]
    for line in look:
        told = subprocess.run(
            ["bash", "-ec", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert told.returncode == 0, line + told.stdout + told.stderr
    story = subprocess.run(
        ["bash", "-ec", look[0]], env=environment, capture_output=True, text=True, timeout=60
    ).stdout
    assert "get_order" in story


def test_every_command_that_the_readme_names_exists() -> None:
    words = set(re.findall(r"commitgate ([a-z]+(?: [a-z]+)?)", "".join(text for _, text in BLOCKS)))
    assert len(words) > 8
    for command in words:
        parts = command.split()
        if parts[0] in {"serve", "worker"}:
            parts = parts[:1]
        assert CliRunner().invoke(application(parts[0]), [*parts, "--help"]).exit_code == 0, command
