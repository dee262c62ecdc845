"""What a new cluster holds: its roles, its settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gateway.embedded import EmbeddedPostgres
from tests.postgres import libpq


@pytest.fixture(scope="module")
def postgres(shared_home: Path) -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(shared_home, settings={"work_mem": "5MB"}) as opened:
        yield opened


def ask(url: str, statement: str) -> tuple[object, ...] | None:
    with psycopg.connect(libpq(url), autocommit=True) as connection:
        return connection.execute(statement).fetchone()


def test_services_login_is_neither_owner_nor_superuser(postgres: EmbeddedPostgres) -> None:
    facts = "select current_user, rolsuper, rolcreaterole, rolbypassrls from pg_roles where rolname = current_user"
    assert ask(postgres.service_url, facts) == ("commitgate_app", False, False, False)
    member = "select pg_has_role('commitgate_service', 'usage'), pg_has_role('commitgate_owner', 'member')"
    assert ask(postgres.service_url, member) == (True, False)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(postgres.service_url, "create schema mine")


def test_owner_makes_schemas_and_roles_and_grants_the_services_role(postgres: EmbeddedPostgres) -> None:
    facts = "select current_user, rolsuper, rolcreaterole from pg_roles where rolname = current_user"
    assert ask(postgres.owner_url, facts) == ("commitgate_owner", False, True)
    with psycopg.connect(libpq(postgres.owner_url), autocommit=True) as connection:
        connection.execute("create schema s")
        connection.execute("create table s.t (n int)")
        connection.execute("grant usage on schema s to commitgate_service")
        connection.execute("grant select on s.t to commitgate_service")
        connection.execute("create role another_service login in role commitgate_service")
    assert ask(postgres.service_url, "select count(*) from s.t") == (0,)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(postgres.service_url, "drop table s.t")


def test_superuser_is_there_for_tests(postgres: EmbeddedPostgres) -> None:
    assert ask(postgres.admin_url, "select rolsuper from pg_roles where rolname = current_user") == (True,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("server_encoding", "UTF8"),
        ("lc_collate", "C"),
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("data_checksums", "on"),
        ("listen_addresses", ""),
        ("timezone", "UTC"),
        ("work_mem", "5MB"),
    ],
)
def test_settings(postgres: EmbeddedPostgres, name: str, value: str) -> None:
    statement = f"select current_setting('{name}')"
    if name == "lc_collate":
        statement = "select datcollate from pg_database where datname = current_database()"
    assert ask(postgres.service_url, statement) == (value,)
