"""Nothing that is recorded changes: by grant for the services, by trigger for everybody else."""

import pytest
from psycopg import errors
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError

from ledger.append import Change, Licence
from ledger.connect import connect
from tests.ledger.story import INTENT, KEY, drafted, held, opened, released, ruled, started, these

CHANGES = [
    "update ledger.events set type = 'x'",
    "update ledger.events set payload = null, salt = null",
    "delete from ledger.events",
    "truncate ledger.events",
]
REMOVALS = ["delete from ledger.dispatches", "truncate ledger.dispatches"]


@pytest.fixture
def recorded(ledger, tenant) -> None:
    licence = Licence(
        intent_id=INTENT,
        attempt=1,
        branch="main",
        effect="WRITE",
        once_key=INTENT,
        worker="w1",
        epoch=1,
        lease_seconds=30,
    )
    ledger.append(tenant, KEY, these(opened(), drafted(0, 6), held(), ruled(0, 6, 6), released()))
    ledger.append(tenant, KEY, lambda _: Change((started(),), (licence,)))


def refusal(engine, statement: str) -> Exception:
    with pytest.raises(DBAPIError) as caught, engine.begin() as connection:
        connection.execute(text(statement))
    return caught.value.orig


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("statement", CHANGES + REMOVALS)
def test_services_have_no_grant(engine, statement):
    assert isinstance(refusal(engine, statement), errors.InsufficientPrivilege)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("statement", CHANGES + REMOVALS)
def test_the_owner_is_refused_by_trigger(owner, statement):
    error = refusal(owner, statement)
    assert isinstance(error, errors.RestrictViolation)
    assert "append-only" in str(error)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("statement", CHANGES)
def test_replication_mode_does_not_switch_it_off(module_database, statement):
    admin = connect(module_database.admin_url)
    event.listen(admin, "begin", lambda c: c.execute(text("set local session_replication_role = replica")))
    try:
        assert isinstance(refusal(admin, statement), errors.RestrictViolation)
    finally:
        admin.dispose()


@pytest.mark.usefixtures("recorded")
def test_projections_can_be_dropped_and_made_again(engine):
    """The negative control: what is no record is not guarded."""
    with engine.begin() as connection:
        assert connection.execute(text("delete from ledger.intents")).rowcount > 0
        connection.rollback()


@pytest.mark.parametrize(
    "statement",
    [
        "create table ledger.mine (a int)",
        "alter table ledger.events disable trigger all",
        "drop table ledger.events",
        "drop trigger events_append_only on ledger.events",
        "set session_replication_role = replica",
        "update ledger.alembic_version set version_num = 'x'",
    ],
)
def test_services_cannot_change_the_schema(engine, statement):
    assert isinstance(refusal(engine, statement), errors.InsufficientPrivilege)


def test_nothing_is_granted_to_everybody(owner):
    query = """
        select c.relname, a.privilege_type
        from pg_class c join pg_namespace n on n.oid = c.relnamespace, aclexplode(c.relacl) a
        where n.nspname = 'ledger' and a.grantee = 0
        union all
        select p.proname, a.privilege_type
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace,
            aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where n.nspname = 'ledger' and a.grantee = 0
        union all
        select n.nspname, a.privilege_type
        from pg_namespace n, aclexplode(n.nspacl) a where n.nspname = 'ledger' and a.grantee = 0
    """
    with owner.connect() as connection:
        assert connection.execute(text(query)).all() == []
