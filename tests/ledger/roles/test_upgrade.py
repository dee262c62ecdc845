"""The group roles come with the migration: to new databases, to old ones, and where no superuser is to be had."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic import command
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError, ProgrammingError
from sqlalchemy.pool import NullPool

from gateway.embedded import EmbeddedPostgres
from ledger.access.duty import SERVICE_DUTIES, SERVICE_ROLE, Duty
from ledger.connect import check_service_login, connect
from ledger.migrate import alembic_config, status, upgrade
from tests.ledger.roles.logins import Login, login
from tests.migrations.equality import difference
from tests.postgres import FAST, OWNER, SERVICE, DatabaseServer, TestDatabase, libpq

GROUPS = [SERVICE_ROLE, *(duty.role for duty in Duty)]


def upgrade_to(url: str, revision: str) -> None:
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_a_database_of_before_the_duties_becomes_a_new_one(database, empty_database):
    """With its grants to the services' group, whose members go on without a change of their own."""
    upgrade_to(empty_database.owner_url, "0001")
    with psycopg.connect(libpq(empty_database.service_url)) as connection:
        connection.execute("select count(*) from ledger.events, ledger.dispatches")
    upgrade(empty_database.owner_url)
    assert difference(database, empty_database) == ""
    engine = connect(empty_database.service_url)
    check_service_login(engine)
    engine.dispose()


def test_the_services_group_lost_its_own_grants(database, empty_database):
    upgrade_to(empty_database.owner_url, "0001")
    upgrade(empty_database.owner_url)
    query = """
        select c.relname from pg_class c, aclexplode(c.relacl) a where a.grantee = 'commitgate_service'::regrole
        union all select f.proname from pg_proc f, aclexplode(f.proacl) a
        where a.grantee = 'commitgate_service'::regrole
        union all select n.nspname from pg_namespace n, aclexplode(n.nspacl) a
        where a.grantee = 'commitgate_service'::regrole
    """
    for one in (database, empty_database):
        with psycopg.connect(libpq(one.owner_url)) as connection:
            assert connection.execute(query).fetchall() == []


def test_any_migrator_upgrades_next(empty_database):
    """What one login made, another one of the group may change: both make it the group's."""
    upgrade_to(empty_database.owner_url, "0003")
    with login(empty_database, Duty.MIGRATOR.role) as migrator:
        migrator.admin(f'grant create on database "{empty_database.name}" to {migrator.name}')
        upgrade(migrator.url)
        assert status(migrator.url).up_to_date
        migrator.run("alter table ledger.events add column mine int")
        migrator.run("alter table ledger.events drop column mine")
        migrator.run("comment on function ledger.check_licence() is 'Mine.'")
        assert migrator.admin("select 1 from pg_class where relowner = '{}'::regrole") == []
        migrator.admin(f'revoke create on database "{empty_database.name}" from {migrator.name}')
        # Nothing is left to do, and nothing that is left undone needs the right to make a schema.
        upgrade(migrator.url)


@contextmanager
def bare_server() -> Iterator[DatabaseServer]:
    """A server on which no role of ours was ever made."""
    home = Path(tempfile.mkdtemp(prefix="cg-roles-"))
    home.chmod(0o755)
    try:
        with EmbeddedPostgres(home / "home", settings=FAST) as postgres:
            yield DatabaseServer(postgres.admin_url)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def managed() -> Iterator[DatabaseServer]:
    with bare_server() as server:
        yield server


@pytest.fixture
def managed_database(managed: DatabaseServer) -> Iterator[TestDatabase]:
    """A database of an administrator's; no group is there. Logins of tests get CREATE on it and nothing else."""
    name = "managed"
    url = managed.admin_url.rsplit("/", 1)
    place = url[1].split("?", 1)
    made = f"{url[0]}/{name}" + (f"?{place[1]}" if len(place) > 1 else "")
    with managed.admin() as admin:
        for group in [*GROUPS, "commitgate_app"]:
            admin.execute(f"drop role if exists {group}")
        admin.execute(f"create database {name}")
        yield TestDatabase(name=name, owner_url=made, service_url=made, admin_url=made)
        admin.execute(f"drop database {name} with (force)")


def may_create(one: Login, database: TestDatabase) -> None:
    one.admin(f"grant create on database {database.name} to {one.name}")


def good_for_services(database: TestDatabase) -> None:
    with login(database, SERVICE_ROLE) as service, service.engine() as engine:
        check_service_login(engine)


def drop_owned(database: TestDatabase, *names: str) -> None:
    """A role that granted, or owns, cannot be dropped before that is gone."""
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as admin:
        for name in names:
            admin.execute(f"drop schema if exists ledger, audit cascade; drop owned by {name} cascade")
        for group in GROUPS:
            admin.execute(f"drop role if exists {group}")


def test_a_login_with_createrole_needs_no_superuser(managed_database):
    with login(managed_database, attributes="createrole") as owner:
        may_create(owner, managed_database)
        upgrade(owner.url)
        assert status(owner.url).up_to_date
        good_for_services(managed_database)
        drop_owned(managed_database, owner.name)


def test_where_an_administrator_made_the_groups_createrole_is_not_needed(managed_database):
    with login(managed_database) as owner:
        may_create(owner, managed_database)
        for group in GROUPS:
            owner.admin(f"create role {group}")
        for duty in SERVICE_DUTIES:
            owner.admin(f"grant {duty.role} to {SERVICE_ROLE}")
        owner.admin(f"grant {Duty.MIGRATOR.role} to {owner.name}")
        upgrade(owner.url)
        good_for_services(managed_database)
        drop_owned(managed_database, owner.name)


@pytest.mark.parametrize(
    ("left_out", "asked"),
    [
        ("commitgate_migrator", "grant commitgate_migrator to commitgate_test_"),
        ("commitgate_sealer", "grant commitgate_sealer to commitgate_service"),
    ],
)
def test_what_the_administrator_forgot_is_said(managed_database, left_out, asked):
    with login(managed_database) as owner:
        may_create(owner, managed_database)
        for group in GROUPS:
            owner.admin(f"create role {group}")
        for duty in SERVICE_DUTIES:
            if duty.role != left_out:
                owner.admin(f"grant {duty.role} to {SERVICE_ROLE}")
        if left_out != Duty.MIGRATOR.role:
            owner.admin(f"grant {Duty.MIGRATOR.role} to {owner.name}")
        with pytest.raises(DBAPIError, match=f"an administrator has to run first: {asked}"):
            upgrade(owner.url)
        assert status(owner.url).current is None
        drop_owned(managed_database, owner.name)


def test_without_groups_and_without_createrole_it_is_refused_whole(managed_database):
    with login(managed_database) as owner:
        may_create(owner, managed_database)
        with pytest.raises(ProgrammingError, match="permission denied to create role"):
            upgrade(owner.url)
        assert status(owner.url).current is None


def test_two_databases_of_one_server_share_the_groups(managed_database, managed):
    with login(managed_database, attributes="createrole") as owner:
        may_create(owner, managed_database)
        upgrade(owner.url)
        with managed.admin() as admin:
            admin.execute("create database beside")
            admin.execute(f"grant create on database beside to {owner.name}")
            try:
                upgrade(owner.url.replace("/managed", "/beside", 1))
                other = owner.url.replace("/managed", "/beside", 1)
                assert status(other).up_to_date
            finally:
                admin.execute("drop database beside with (force)")
        drop_owned(managed_database, owner.name)


def test_nothing_runs_twice(database):
    # Roles belong to the whole server: tests of other workers make and drop logins meanwhile.
    before = (
        "select count(*) from pg_auth_members m join pg_roles r on r.oid = m.member "
        f"where not r.rolcanlogin or r.rolname in ('{OWNER}', '{SERVICE}')"
    )
    engine = create_engine(database.owner_url, poolclass=NullPool)
    with engine.connect() as connection:
        first = connection.execute(text(before)).scalar_one()
        assert first > 0
        upgrade(database.owner_url)
        assert connection.execute(text(before)).scalar_one() == first
