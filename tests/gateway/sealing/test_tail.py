"""``ledger tail --follow``: live across processes, through a database that is away, until it is ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from gateway.sealing import sealing
from gateway.settings import Settings
from tests.gateway.sealing.story import story, until
from tests.postgres import DatabaseServer, TestDatabase
from tests.processes import ROOT, commitgate


def test_follows_what_is_sealed(
    environ: dict[str, str],
    database: TestDatabase,
    database_server: DatabaseServer,
    tmp_path: Path,
) -> None:
    out, errors = tmp_path / "out", tmp_path / "errors"
    settings = Settings(home=tmp_path / "home", seal_seconds=0.05)

    def told() -> list[tuple[str, int]]:
        lines = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
        return [(line["commit_key"], line["seq"]) for line in lines]

    command = commitgate("ledger", "tail", "--all", "--follow")
    with story(database) as writing, sealing(writing.engine, settings), out.open("wb") as into:
        writing.write("one", "a")
        with errors.open("wb") as into_errors:
            tail = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **environ}, stdout=into, stderr=into_errors
            )
        try:
            until(lambda: told() == [("one", 1), ("one", 2)])
            with database_server.admin() as admin:
                admin.execute(f"alter database {database.name} allow_connections false")
                admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s",
                    (database.name,),
                )
                until(lambda: "the database is away" in errors.read_text())
                admin.execute(f"alter database {database.name} allow_connections true")
            writing.write("two", "b")
            until(lambda: told() == [("one", 1), ("one", 2), ("two", 1), ("two", 2)])
            tail.send_signal(signal.SIGINT)
            assert tail.wait(30) == 130
        finally:
            tail.kill()
            tail.wait()
    assert "Traceback" not in errors.read_text()
