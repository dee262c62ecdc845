"""Test databases: where the server comes from, one migrated template, a copy for each test.

The server, in this order: COMMITGATE_TEST_DATABASE_URL (a superuser's URL), a container where a Docker engine
answers, the embedded Postgres. There is no fourth and no skip: without a server the tests fail.
"""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg import sql
from sqlalchemy import URL, make_url

from gateway.embedded import EmbeddedPostgres, datafolder
from tests import plain
from tests.plain.server import take_away

URL_SETTING = "COMMITGATE_TEST_DATABASE_URL"
HOME_SETTING = "COMMITGATE_TEST_HOME"
IMAGE = "postgres:18-alpine"
FAST: Mapping[str, str] = {"fsync": "off", "full_page_writes": "off"}
OWNER, SERVICE, GROUP = "commitgate_test_owner", "commitgate_test_service", "commitgate_service"
PASSWORD = "commitgate-test"  # of logins that exist for tests only
PREPARING = 0x74657374  # advisory lock: roles belong to the whole server, and workers share it


@dataclass(frozen=True)
class TestDatabase:
    """One database of a test, as SQLAlchemy URLs (postgresql+psycopg://)."""

    __test__ = False

    name: str
    owner_url: str
    service_url: str
    admin_url: str


class DatabaseServer:
    """A server on which a superuser makes databases for tests."""

    def __init__(self, admin_url: str) -> None:
        self._admin = make_url(admin_url)

    @property
    def admin_url(self) -> str:
        return _text(self._admin)

    def prepare_roles(self) -> None:
        """The owner, the services' login and the services' group; harmless when they are there."""
        with self.admin() as connection, connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (PREPARING,))
            superuser = connection.execute(
                "select rolsuper from pg_roles where rolname = current_user"
            ).fetchone()
            if superuser != (True,):
                raise RuntimeError(f"{URL_SETTING} must be the URL of a superuser")
            for role, rights in ((OWNER, "login createrole"), (GROUP, "nologin"), (SERVICE, "login")):
                if connection.execute("select from pg_roles where rolname = %s", (role,)).fetchone() is None:
                    connection.execute(sql.SQL("create role {} " + rights).format(sql.Identifier(role)))
                if rights != "nologin":
                    self._run(connection, f"alter role {{}} password '{PASSWORD}'", role)
            self._run(connection, "grant {} to {}", GROUP, SERVICE)

    def create(self, label: str, template: str | None = None) -> TestDatabase:
        """A new database: a copy of `template`, else an empty one."""
        name = f"commitgate_{label}_{secrets.token_hex(6)}"
        source = template or "template0"
        with self.admin() as connection:
            self._run(connection, "create database {} template {} owner {}", name, source, OWNER)
        made = TestDatabase(
            name=name,
            owner_url=_text(self._admin.set(username=OWNER, password=PASSWORD, database=name)),
            service_url=_text(self._admin.set(username=SERVICE, password=PASSWORD, database=name)),
            admin_url=_text(self._admin.set(database=name)),
        )
        if plain.wanted() and template is None:
            take_away(libpq(made.admin_url))
        if template is not None:
            self._take_in(made)
        return made

    @staticmethod
    def _take_in(copy: TestDatabase) -> None:
        """A copy is another incarnation of the database; in this one nothing was sent before."""
        with psycopg.connect(libpq(copy.admin_url), autocommit=True) as connection:
            connection.execute("update ledger.incarnations set identity = ledger.incarnation()")

    def drop(self, database: TestDatabase) -> None:
        """Take it away, whoever is still connected."""
        with self.admin() as connection:
            self._run(connection, "drop database if exists {} with (force)", database.name)

    @contextmanager
    def database(self, label: str, template: str | None = None) -> Iterator[TestDatabase]:
        """A database for the length of the block."""
        made = self.create(label, template)
        try:
            yield made
        finally:
            self.drop(made)

    @contextmanager
    def migrated(self, upgrade: Callable[[str], None]) -> Iterator[TestDatabase]:
        """A template: a database that `upgrade(owner_url)` has brought to the newest schema."""
        self.prepare_roles()
        with self.database("template") as template:
            with self.admin() as connection:  # other workers migrate too, and roles belong to all databases
                connection.execute("select pg_advisory_lock(%s)", (PREPARING,))
                upgrade(template.owner_url)
            yield template

    @contextmanager
    def admin(self) -> Iterator[psycopg.Connection]:
        """A superuser's connection in autocommit, closed at the end of the block."""
        with psycopg.connect(libpq(self.admin_url), autocommit=True) as connection:
            yield connection

    @staticmethod
    def _run(connection: psycopg.Connection, statement: str, *names: str) -> None:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def libpq(url: str) -> str:
    """A SQLAlchemy URL as psycopg.connect takes it."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


@contextmanager
def server(settings: Mapping[str, str] = FAST) -> Iterator[DatabaseServer]:
    """The server of this test session; `settings` count for the embedded one and for containers."""
    told = os.environ.get(URL_SETTING)
    with ExitStack() as stack:
        if told:
            yield DatabaseServer(told)
        elif docker_ready():
            yield DatabaseServer(stack.enter_context(_container(settings)))
        else:
            home = Path(os.environ[HOME_SETTING]) / ("durable" if not settings else "fast")
            postgres = stack.enter_context(EmbeddedPostgres(home, settings=settings))
            yield DatabaseServer(postgres.admin_url)


class DockerClient(Protocol):
    """What docker_ready needs of docker.DockerClient."""

    def ping(self) -> bool: ...

    def close(self) -> None: ...


def docker_ready(connect: Callable[[], DockerClient] | None = None) -> bool:
    """Whether a Docker engine answers a ping within two seconds; a `docker` command alone proves nothing."""
    try:
        import docker  # type: ignore[import-untyped]
        from docker.errors import DockerException  # type: ignore[import-untyped]
    except ImportError:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # docker leaves a refused socket to the collector
        try:
            client = connect() if connect else docker.from_env(timeout=2)
            try:
                return bool(client.ping())
            finally:
                client.close()
        except (DockerException, OSError):
            return False
        finally:
            gc.collect()


@contextmanager
def _container(settings: Mapping[str, str]) -> Iterator[str]:
    from testcontainers.community.postgres import PostgresContainer

    container = PostgresContainer(IMAGE, driver="psycopg")
    if settings:
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        container = container.with_command(f"postgres {options}")
    with container as running:
        yield running.get_connection_url()


def make_home() -> Path:
    """A home for this run's embedded servers, named in COMMITGATE_TEST_HOME so that all workers share it."""
    home = Path(tempfile.mkdtemp(prefix="commitgate-tests-"))
    home.chmod(0o755)  # root steps down, and the server's account has to enter it
    os.environ[HOME_SETTING] = str(home)
    return home


def remove_home(home: Path) -> None:
    """Take a home away with every data folder that its pointers name."""
    for pointer in home.glob(f"*/{datafolder.POINTER}"):
        shutil.rmtree(pointer.read_text(encoding="utf-8").strip(), ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    os.environ.pop(HOME_SETTING, None)


def _text(url: URL) -> str:
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
