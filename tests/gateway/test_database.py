"""The embedded database of a process stays up under it."""

import os
import signal
import time
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from gateway import embedded
from gateway.database import database
from gateway.settings import Settings
from ledger.access.duty import SERVICE_DUTIES


def test_a_server_that_is_killed_under_its_user_comes_back_under_the_same_address(tmp_path: Path) -> None:
    with database(Settings(home=tmp_path / "home"), "test", SERVICE_DUTIES) as engine:
        with engine.connect() as connection:
            assert connection.scalar(text("select 1")) == 1
        with embedded.start(tmp_path / "home") as other:
            pid = other.server.server_pid
            os.kill(pid, signal.SIGKILL)
            deadline = time.monotonic() + 30
            while (pid == _pid(tmp_path / "home") or not _answers(engine)) and time.monotonic() < deadline:
                continue
            assert _answers(engine)


def _pid(home: Path) -> int:
    with embedded.start(home) as again:
        return again.server.server_pid


def _answers(engine: object) -> bool:
    try:
        with engine.connect() as connection:  # type: ignore[attr-defined]
            return bool(connection.scalar(text("select 1")) == 1)
    except DBAPIError:
        return False
