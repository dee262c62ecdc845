"""The provisioning of test databases is tested too."""

from __future__ import annotations

import psycopg
import pytest
from docker.errors import DockerException  # type: ignore[import-untyped]

from tests.postgres import TestDatabase, docker_ready, libpq


class Engine:
    """A Docker client whose engine answers a ping with this."""

    def __init__(self, answer: bool | Exception) -> None:
        self.answer, self.closed = answer, False

    def ping(self) -> bool:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("answer", "ready"),
    [(True, True), (False, False), (DockerException("no"), False), (ConnectionError("refused"), False)],
)
def test_docker_is_ready_only_where_its_engine_answers(answer: bool | Exception, ready: bool) -> None:
    engine = Engine(answer)
    assert docker_ready(lambda: engine) is ready
    assert engine.closed


def test_docker_that_cannot_be_reached_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    assert docker_ready() is False


def test_databases_of_tests_do_not_see_each_other(
    database: TestDatabase, module_database: TestDatabase, empty_database: TestDatabase
) -> None:
    with psycopg.connect(libpq(database.owner_url)) as connection:
        connection.execute("create table mine (n int)")
    facts = []
    for other in (database, module_database, empty_database):
        with psycopg.connect(libpq(other.admin_url)) as connection:
            facts.append(connection.execute("select to_regclass('mine') is not null").fetchone())
    assert facts == [(True,), (False,), (False,)]


def test_services_login_of_tests_has_no_more_rights_than_in_production(database: TestDatabase) -> None:
    with psycopg.connect(libpq(database.service_url)) as connection:
        statement = "select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user"
        assert connection.execute(statement).fetchone() == (False, False, False)
        members = "select pg_has_role('commitgate_service', 'usage'), pg_has_role('commitgate_test_owner', 'member')"
        assert connection.execute(members).fetchone() == (True, False)


def test_durable_databases_wait_for_the_disk_and_others_do_not(
    fsync_database: TestDatabase, database: TestDatabase
) -> None:
    found = []
    for one in (fsync_database, database):
        with psycopg.connect(libpq(one.service_url)) as connection:
            found.append(connection.execute("select current_setting('fsync')").fetchone())
    assert found[0] == ("on",)
