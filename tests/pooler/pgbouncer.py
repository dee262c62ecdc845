"""A pgbouncer in transaction mode before a test database: a real one, from the machine's own package."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from tests.gateway.toolserver import free_port
from tests.postgres import TestDatabase

PATIENCE = 20.0
NOBODY = "nobody"
"""Whose rights it runs under where the tests run as root: it refuses to be root."""


def program() -> str | None:
    """The pgbouncer of this machine."""
    return shutil.which("pgbouncer", path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin")


@contextmanager
def pooled(database: TestDatabase, *, servers: int = 3) -> Iterator[TestDatabase]:
    """``database``, reached through a pooler that has ``servers`` connections to it for each login."""
    found = program()
    assert found is not None
    port = free_port()
    # Short, and not among the test's own files: a socket's path is limited, and another account has to enter it.
    with tempfile.TemporaryDirectory(prefix="pgb-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        settings = _write(folder, database, port, servers)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([found, *_account(), str(settings)], stdout=log, stderr=log)
        try:
            _wait(port, process, folder / "log")
            through = {"host": "127.0.0.1", "port": port, "database": database.name, "query": {}}
            urls = (make_url(url).set(**through) for url in (database.owner_url, database.service_url))
            owner, service = (url.render_as_string(hide_password=False) for url in urls)
            yield TestDatabase(database.name, owner, service, database.admin_url)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def _write(folder: Path, database: TestDatabase, port: int, servers: int) -> Path:
    logins = [make_url(url) for url in (database.owner_url, database.service_url)]
    host = logins[0].host or str(logins[0].query.get("host", ""))
    server_port = logins[0].port or logins[0].query.get("port", 5432)
    (folder / "users.txt").write_text("".join(f'"{url.username}" "{url.password}"\n' for url in logins))
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n{database.name} = host={host} port={server_port} dbname={database.name}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {folder / 'users.txt'}\n"
        f"pool_mode = transaction\ndefault_pool_size = {servers}\nmax_client_conn = 200\n"
        # From 1.21 on a pooler can keep prepared statements apart; here it is one that cannot.
        + ("max_prepared_statements = 0\n" if _version() >= (1, 21) else "")
    )
    return settings


def _version() -> tuple[int, ...]:
    said = subprocess.run([program() or "", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.split()[1].split(".")[:2])


def _account() -> list[str]:
    return ["-u", NOBODY] if os.geteuid() == 0 else []


def _wait(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise psycopg.OperationalError(log.read_text())
