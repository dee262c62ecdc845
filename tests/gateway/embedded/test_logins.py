"""A login for each duty on the embedded server, on a new home and on one that is older than the duties."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import psycopg
import pytest
from alembic import command
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from gateway import embedded
from gateway.database import database
from gateway.embedded import EmbeddedPostgres
from gateway.embedded.logins import LOGINS, ensure_logins
from gateway.settings import Settings
from ledger.access.duty import SERVICE_DUTIES, Duty
from ledger.migrate import alembic_config, upgrade
from tests.postgres import libpq

NEEDS = [
    ((Duty.WRITER,), "commitgate_app_writer"),
    ((Duty.DISPATCHER,), "commitgate_app_dispatcher"),
    ((Duty.SEALER,), "commitgate_app_sealer"),
    ((Duty.RECONCILER,), "commitgate_app_reconciler"),
    ((Duty.REDACTOR,), "commitgate_app_redactor"),
    ((Duty.WRITER, Duty.DISPATCHER, Duty.SEALER), "commitgate_app"),
    (tuple(SERVICE_DUTIES), "commitgate_app"),
]


@pytest.fixture(scope="module", autouse=True)
def running(shared_home: Path) -> Iterator[EmbeddedPostgres]:
    """Kept up for all tests: joining is faster than starting."""
    with embedded.start(shared_home) as server:
        upgrade(server.owner_url)
        ensure_logins(server.owner_url)
        yield server


def login_for(home: Path, needs: Collection[Duty]) -> object:
    with database(Settings(home=home), "test", needs) as engine, engine.connect() as connection:
        return connection.scalar(text("select session_user"))


@pytest.mark.parametrize(("needs", "login"), NEEDS)
def test_each_process_runs_under_the_login_of_its_duty(
    shared_home: Path, needs: Collection[Duty], login: str
) -> None:
    assert login_for(shared_home, needs) == login


def test_a_home_of_before_the_duties_gets_them(home: Path) -> None:
    """As the release before made it: the services' group with grants of its own, and no other group."""
    with embedded.start(home) as server:
        engine = create_engine(server.owner_url, poolclass=NullPool)
        with engine.begin() as connection:
            config = alembic_config()
            config.attributes["connection"] = connection
            command.upgrade(config, "0001")
        with psycopg.connect(libpq(server.admin_url)) as admin:
            groups = admin.execute("select rolname from pg_roles where rolname ~ '^commitgate'").fetchall()
        assert sorted(groups) == [("commitgate_app",), ("commitgate_owner",), ("commitgate_service",)]
        for needs, login in NEEDS:
            assert login_for(home, needs) == login


def test_making_them_again_changes_nothing(running: EmbeddedPostgres) -> None:
    query = "select array_agg(oid order by oid) from pg_roles where rolname = any(%s)"
    with psycopg.connect(libpq(running.admin_url)) as admin:
        first = admin.execute(query, (list(LOGINS.values()),)).fetchone()
        ensure_logins(running.owner_url)
        assert admin.execute(query, (list(LOGINS.values()),)).fetchone() == first


def test_a_configured_login_of_a_duty_is_used_and_another_duty_keeps_its_own(
    running: EmbeddedPostgres, shared_home: Path
) -> None:
    settings = Settings(
        home=shared_home,
        database_url=running.service_url,
        reconciliation_database_url=running.login_url(LOGINS[Duty.RECONCILER]),
        redaction_database_url=running.login_url(LOGINS[Duty.REDACTOR]),
    )
    for needs, login in (
        ((Duty.RECONCILER,), "commitgate_app_reconciler"),
        ((Duty.REDACTOR,), "commitgate_app_redactor"),
        ((Duty.WRITER,), "commitgate_app"),
    ):
        with database(settings, "test", needs) as engine, engine.connect() as connection:
            assert connection.scalar(text("select session_user")) == login
