from pathlib import Path

import pytest

from tests.gateway.sealing.command import Command
from tests.postgres import TestDatabase


@pytest.fixture
def environ(database: TestDatabase, tmp_path: Path) -> dict[str, str]:
    """Settings of processes over a database of this test's own, with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return {"COMMITGATE_DATABASE_URL": database.service_url, "COMMITGATE_HOME": str(home)}


@pytest.fixture
def command(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return Command(monkeypatch, capsys)
