"""Postgres servers that tests kill, promote and put back: stock executables, TCP on loopback, one folder each."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

from gateway.embedded.account import ServerAccount, bare_environment
from gateway.embedded.binaries import Binaries
from gateway.embedded.parentage import ended_with_parent
from tests.gateway.toolserver import eventually, free_port
from tests.postgres import OWNER, PASSWORD, SERVICE, DatabaseServer, TestDatabase

SUPERUSER = "postgres"
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "32MB",
    "max_wal_size": "256MB",
    "wal_retrieve_retry_interval": "100ms",
    "log_checkpoints": "off",
}


_numbers = count(1)


class Machine:
    """Where servers run: the executables, and the account that root steps down to. ``root``: its own folder."""

    def __init__(self, binaries: Binaries, account: ServerAccount, root: Path) -> None:
        self.binaries = binaries
        self.account = account
        self.root = root

    def run(self, program: str, *arguments: str | Path) -> None:
        """Run one of the executables to its end."""
        done = self.account.run([self.binaries[program], *arguments])
        assert done.returncode == 0, f"{program}: {done.stderr}"

    def made(self, name: str) -> Server:
        """A server with a new cluster; not started."""
        server = Server(self, name)
        options = ("-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
        self.run("initdb", "-D", server.data, "-U", SUPERUSER, *options)
        return server

    def copied(self, original: Path, name: str) -> Server:
        """A server on a copy of a folder whose server is not running."""
        server = Server(self, name)
        server.put_back(original)
        return server


class Server:
    """One server and its data folder. ``port`` stays the same whenever it is started."""

    def __init__(self, machine: Machine, name: str) -> None:
        self._machine = machine
        self._process: subprocess.Popen[bytes] | None = None
        self.name = f"{name}-{next(_numbers)}"
        self.data = machine.root / self.name
        self.port = free_port()

    @property
    def admin_url(self) -> str:
        return f"postgresql+psycopg://{SUPERUSER}@127.0.0.1:{self.port}/postgres"

    @property
    def server(self) -> DatabaseServer:
        return DatabaseServer(self.admin_url)

    def database(self, name: str) -> TestDatabase:
        """The URLs of a database here."""
        place = f"127.0.0.1:{self.port}/{name}"
        return TestDatabase(
            name=name,
            owner_url=f"postgresql+psycopg://{OWNER}:{PASSWORD}@{place}",
            service_url=f"postgresql+psycopg://{SERVICE}:{PASSWORD}@{place}",
            admin_url=f"postgresql+psycopg://{SUPERUSER}@{place}",
        )

    @contextmanager
    def admin(self, database: str = "postgres") -> Iterator[psycopg.Connection]:
        """A superuser's connection in autocommit."""
        place = f"host=127.0.0.1 port={self.port} user={SUPERUSER} dbname={database} connect_timeout=5"
        with psycopg.connect(place, autocommit=True) as connection:
            yield connection

    def asked(self, question: str, database: str = "postgres") -> object:
        """The first column of a superuser's question; None while the server does not answer."""
        try:
            with self.admin(database) as connection:
                row = connection.execute(question).fetchone()
        except psycopg.OperationalError:
            return None
        return None if row is None else row[0]

    def start(self, **settings: str) -> None:
        """Start it and wait until it answers."""
        argv = [str(self._machine.binaries["postgres"]), "-D", str(self.data), "-p", str(self.port)]
        for name, value in {**SETTINGS, **settings}.items():
            argv += ["-c", f"{name}={value}"]
        account = self._machine.account
        with (self._machine.root / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=bare_environment(),
                user=account.user,
                group=account.group,
                extra_groups=account.extra_groups,
                preexec_fn=ended_with_parent(signal.SIGQUIT),
            )
        eventually(lambda: self.asked("select 1"))

    def stop(self) -> None:
        """End it in good order."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL for every process of the server, none of which sees another one die first."""
        process = self._process
        if process is None:
            return
        # Stopped, it neither starts another process nor takes note of dead ones.
        process.send_signal(signal.SIGSTOP)
        for pid in [*_children(process.pid), process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(10)
        self._process = None

    def back_up(self, name: str) -> Path:
        """A base backup of the running server, as a folder."""
        folder = self._machine.root / f"{name}-{next(_numbers)}"
        self._backed_up(folder)
        return folder

    def _backed_up(self, folder: Path) -> None:
        place = f"host=127.0.0.1 port={self.port} user={SUPERUSER}"
        self._machine.run(
            "pg_basebackup", "-D", folder, "-d", place, "-X", "stream", "--checkpoint=fast", "--no-sync"
        )

    def standby(self, name: str) -> Server:
        """A hot standby of the running server, started and streaming."""
        follower = Server(self._machine, name)
        self._backed_up(follower.data)
        (follower.data / "standby.signal").touch()
        follower.start(
            primary_conninfo=f"host=127.0.0.1 port={self.port} user={SUPERUSER} application_name={name}"
        )
        eventually(lambda: self.asked("select true from pg_stat_replication where state = 'streaming'"))
        return follower

    def wait_for_standby(self) -> None:
        """One standby at least must have a commit on disk from now on, before it is acknowledged."""
        with self.admin() as connection:
            connection.execute("alter system set synchronous_standby_names = '*'")
            connection.execute("select pg_reload_conf()")
        eventually(lambda: self.asked("select true from pg_stat_replication where sync_state = 'sync'"))

    def caught_up(self) -> None:
        """Wait until every standby has replayed all that is written now."""
        position = self.asked("select pg_current_wal_insert_lsn()")
        question = f"select bool_and(replay_lsn >= '{position}'::pg_lsn) from pg_stat_replication"
        eventually(lambda: self.asked(question))

    def follow_nobody(self) -> None:
        """As a standby: receive nothing any more, whatever the primary still writes."""
        self.kill()
        self.start(primary_conninfo="")

    def promote(self) -> None:
        """Make it the primary, and wait until it takes writes."""
        self.asked("select pg_promote()")
        eventually(lambda: self.asked("select not pg_is_in_recovery()"))

    def put_back(self, backup: Path) -> None:
        """Put the data of a stopped or killed server back to a copy of ``backup``."""
        assert self._process is None, "it runs"
        shutil.rmtree(self.data, ignore_errors=True)
        done = self._machine.account.run(["cp", "-R", backup, self.data])
        assert done.returncode == 0, done.stderr
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def recover_to_new_timeline(self) -> None:
        """Let the next start end archive recovery, as the manual says for a restore: a new timeline begins."""
        (self.data / "recovery.signal").touch()

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(stat.parent.name))
    return found


class Fleet:
    """The servers of one test; none of them outlives it."""

    def __init__(self, machine: Machine, seed: Path) -> None:
        self.machine = machine
        self._seed = seed
        self._servers: list[Server] = []

    def primary(self, **settings: str) -> Server:
        """A running server that holds a migrated database ``DATABASE``."""
        server = self.add(self.machine.copied(self._seed, f"primary-{len(self._servers)}"))
        server.start(**settings)
        return server

    def add(self, server: Server) -> Server:
        self._servers.append(server)
        return server

    def close(self) -> None:
        for server in self._servers:
            server.kill()
            shutil.rmtree(server.data, ignore_errors=True)


DATABASE = "commitgate"


def seeded(machine: Machine, upgrade: Callable[[str], None]) -> Path:
    """The folder of a stopped server that holds a migrated database."""
    server = machine.made("seed")
    server.start(fsync="off")
    try:
        server.server.prepare_roles()
        with server.admin() as connection:
            connection.execute(f"create database {DATABASE} owner {OWNER}")
        upgrade(server.database(DATABASE).owner_url)
    finally:
        server.stop()
    return server.data


def both(*servers: Server) -> str:
    """The services' URL that leads to whichever of ``servers`` takes writes."""
    hosts = "&".join(f"host=127.0.0.1:{server.port}" for server in servers)
    named = f"postgresql+psycopg://{SERVICE}:{PASSWORD}@/{DATABASE}?{hosts}"
    return f"{named}&target_session_attrs=read-write&connect_timeout=2"
