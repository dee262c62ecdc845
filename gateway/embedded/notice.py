"""Where the server of a data folder listens: a file that its guardian writes and takes away."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

SUPERUSER = "postgres"
OWNER = "commitgate_owner"
APP = "commitgate_app"
SERVICE = "commitgate_service"
DATABASE = "commitgate"


@dataclass(frozen=True)
class ServerNotice:
    """A server that was ready when this was written; whether it still is, only connecting tells."""

    socket_dir: str
    port: int
    server_pid: int
    guardian_pid: int
    version: str

    def url(self, role: str, database: str = DATABASE, driver: str = "postgresql+psycopg") -> str:
        """The URL of `database` for one role; with driver `postgresql`, as libpq takes it."""
        return f"{driver}://{role}@/{database}?host={self.socket_dir}&port={self.port}"

    def write(self, path: Path) -> None:
        """Put the notice in place in one step."""
        draft = path.with_name(f"{path.name}.draft")
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(path)

    def answers(self) -> bool:
        """Whether the server takes a connection at this moment."""
        import psycopg  # the guardian reads this module too, and starts without the driver

        try:
            psycopg.connect(self.url(SUPERUSER, driver="postgresql"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return os.path.isdir(self.socket_dir)


def read(path: Path) -> ServerNotice | None:
    """The notice in this file; None where there is none, or one of another release."""
    try:
        return ServerNotice(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
