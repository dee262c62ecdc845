"""A Postgres of the bench's own: embedded, stock settings, fsync on; taken away afterwards."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded import EmbeddedPostgres, datafolder
from ledger.migrate import upgrade


@dataclass(frozen=True, slots=True)
class BenchServer:
    """Its logins, as SQLAlchemy URLs."""

    admin_url: str
    service_url: str


@contextmanager
def bench_server() -> Iterator[BenchServer]:
    """A server at the newest schema while the block runs."""
    home = Path(tempfile.mkdtemp(prefix="commitgate-bench-"))
    home.chmod(0o755)
    try:
        with EmbeddedPostgres(home, settings={}) as server:
            upgrade(server.owner_url)
            yield BenchServer(server.admin_url, server.service_url)
    finally:
        for pointer in home.glob(f"**/{datafolder.POINTER}"):
            shutil.rmtree(pointer.read_text(encoding="utf-8").strip(), ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)


def libpq(url: str) -> str:
    """The URL as psycopg takes it."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)
