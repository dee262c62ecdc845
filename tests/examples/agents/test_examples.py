"""The examples run as people run them: each starts everything, makes one conversation, and says what came of it."""

import os
import subprocess
import sys

import pytest

from tests.postgres import TestDatabase
from tests.processes import ROOT

WROTE = "WRITE cancel_order, release committed, ok, final True"


def run(name: str, database: TestDatabase) -> str:
    """Over a database that is there, which spares the seconds of making one; ``make demo`` makes one."""
    done = subprocess.run(
        [sys.executable, "-m", f"examples.{name}"],
        cwd=ROOT,
        env=os.environ | {"COMMITGATE_DATABASE_URL": database.service_url},
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", ["openai_agents", "langgraph_agent", "mcp_client"])
def test_an_example_reads_once_and_writes_once(name: str, database: TestDatabase) -> None:
    pytest.importorskip({"openai_agents": "agents", "langgraph_agent": "langgraph"}.get(name, "mcp"))
    said = run(name, database)
    assert said.count("cancel_order: 200, changed\n") == 1
    assert said.count("get_order: 200, changed nothing\n") == 1
    assert said.count(WROTE) == 1
    assert "READ_ONLY get_order, release" in said
    if name == "mcp_client":
        assert "replayed True" in said
    else:
        assert "is cancelled." in said
