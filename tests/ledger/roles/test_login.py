"""A process refuses a login that may do more than its duty, and one that may do less."""

from collections.abc import Iterator

import pytest

from ledger.access.duty import SERVICE_DUTIES, SERVICE_ROLE, Duty
from ledger.access.login import check_login
from ledger.errors import MissingPrivileges, SchemaOutdated, UnsafeLogin
from tests.ledger.roles.logins import Login, login

NEEDS = [*((duty,) for duty in sorted(SERVICE_DUTIES)), (Duty.WRITER, Duty.DISPATCHER, Duty.SEALER)]


@pytest.fixture
def serving(module_database) -> Iterator[Login]:
    """A login of the services that one test may change."""
    with login(module_database, SERVICE_ROLE) as made:
        yield made


@pytest.fixture
def redacting(module_database) -> Iterator[Login]:
    with login(module_database, Duty.REDACTOR.role) as made:
        yield made


def check(one: Login, *needs: Duty) -> frozenset[Duty]:
    with one.engine() as engine:
        return check_login(engine, needs)


@pytest.mark.parametrize("needs", NEEDS)
def test_the_services_login_will_do_for_every_process(serving, needs):
    assert check(serving, *needs) == SERVICE_DUTIES


@pytest.mark.parametrize(
    ("power", "reason"),
    [
        ("grant commitgate_redactor to {}", "change or remove events"),
        ("grant commitgate_migrator to {}", "owns the ledger"),
        ("alter role {} noinherit; grant commitgate_redactor to {}", "change or remove events"),
        ("grant update (payload) on ledger.events to {}", "change or remove events"),
        ("grant update (type) on ledger.events to {}", "change or remove events"),
        ("grant insert on ledger.auditors to {}", "whose auditor"),
        ("grant update (tenant) on ledger.auditors to {}", "whose auditor"),
        ("grant trigger on ledger.streams to {}", "TRIGGER streams"),
        ("grant update (effect) on ledger.dispatches to {}", "UPDATE dispatches.effect"),
        ("grant update on ledger.tiles to {}", "UPDATE tiles"),
        ("grant delete on ledger.seals to {}", "DELETE seals"),
        ("grant truncate on ledger.checkpoints to {}", "TRUNCATE checkpoints"),
        ("grant update (log_id) on ledger.log to {}", "UPDATE log.log_id"),
        ("grant update on ledger.alembic_version to {}", "UPDATE alembic_version"),
        ("grant create on schema audit to {}", "create objects"),
        ("grant pg_execute_server_program to {}", "files or programs"),
        ("grant pg_write_server_files to {}", "files or programs"),
        ("alter role {} replication", "replicate"),
    ],
)
def test_a_login_that_may_more_is_refused(serving, power, reason):
    for statement in power.split(";"):
        serving.admin(statement)
    for needs in NEEDS:
        with pytest.raises(UnsafeLogin, match=reason):
            check(serving, *needs)


def test_what_is_missing_is_named(module_database, serving):
    serving.admin("revoke commitgate_service from {}")
    with pytest.raises(MissingPrivileges, match="commitgate_dispatcher, commitgate_writer") as caught:
        check(serving, Duty.WRITER, Duty.DISPATCHER)
    assert caught.value.code == "missing_database_privileges"
    serving.admin("grant commitgate_writer to {}")
    assert check(serving, Duty.WRITER) == {Duty.WRITER}
    with pytest.raises(MissingPrivileges) as caught:
        check(serving, Duty.WRITER, Duty.DISPATCHER)
    assert caught.value.roles == ("commitgate_dispatcher",)


def test_a_group_that_is_not_inherited_is_of_no_use(serving):
    """Services never SET ROLE."""
    serving.admin("alter role {} noinherit")
    serving.admin("revoke commitgate_service from {}")
    serving.admin("grant commitgate_service to {}")
    with pytest.raises(MissingPrivileges):
        check(serving, Duty.WRITER)


def test_a_redactor_redacts_and_does_nothing_else(redacting):
    assert check(redacting, Duty.REDACTOR) == {Duty.REDACTOR}
    for needs in NEEDS:
        with pytest.raises(UnsafeLogin, match="change or remove events"):
            check(redacting, *needs)


@pytest.mark.parametrize(
    ("power", "reason"),
    [
        ("grant commitgate_writer to {}", "INSERT events"),
        ("grant commitgate_dispatcher to {}", "INSERT dispatches"),
        ("grant commitgate_migrator to {}", "owns the ledger"),
        ("grant update (type) on ledger.events to {}", "change or remove events"),
        ("grant delete on ledger.events to {}", "change or remove events"),
    ],
)
def test_a_redactor_that_may_more_is_refused(redacting, power, reason):
    redacting.admin(power)
    with pytest.raises(UnsafeLogin, match=reason):
        check(redacting, Duty.REDACTOR)


@pytest.mark.parametrize(
    "needs",
    [(), (Duty.AUDITOR,), (Duty.MIGRATOR,), (Duty.REDACTOR, Duty.WRITER), (Duty.WRITER, Duty.AUDITOR)],
)
def test_nobody_works_under_other_duties(serving, needs):
    with pytest.raises(ValueError, match="no process works"):
        check(serving, *needs)


def test_an_old_schema_is_told_before_a_duty_that_it_does_not_know(database):
    with login(database, Duty.WRITER.role) as one:
        one.admin("update ledger.alembic_version set version_num = '0002'")
        with pytest.raises(SchemaOutdated):
            check(one, Duty.WRITER, Duty.DISPATCHER)
