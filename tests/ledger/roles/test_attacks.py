"""Each login tries what it must not do, on a database with a real turn in it."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import errors

from ledger.access.duty import Duty
from ledger.append import Change, Ledger, Licence
from tests.ledger.roles import decisions
from tests.ledger.roles.attacks import EACH, EVERYBODY, NOT_IN_A_TRANSACTION
from tests.ledger.roles.logins import KINDS, NOBODY, RESTRICTED, SERVICE, Login, refused
from tests.ledger.story import INTENT, KEY, drafted, held, opened, released, ruled, started, these
from tests.postgres import libpq

TENANT = "attacked"

# Refused for want of a privilege; or, first of all, because what the statement asks for is not there for this login.
NO = (
    errors.InsufficientPrivilege,
    errors.UndefinedFunction,
    errors.InvalidSchemaName,
)


@pytest.fixture(scope="module")
def attacked(people) -> dict[str, Login]:
    """A turn that was dispatched, by the services' login."""
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
    with people[SERVICE].engine() as engine:
        ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
        ledger.append(TENANT, KEY, these(opened(), drafted(0, 6), held(), ruled(0, 6, 6), released()))
        ledger.append(TENANT, KEY, lambda _: Change((started(),), (licence,)))
    return people


def fingerprint(database) -> object:
    """Everything that is recorded, who owns what, what is granted to whom, and which triggers stand."""
    query = """
        select (select md5(string_agg(e::text, '' order by shard, tenant, commit_key, seq)) from ledger.events e),
            (select md5(string_agg(d::text, '')) from ledger.dispatches d),
            (select md5(string_agg(s::text, '' order by shard, tenant, commit_key)) from ledger.streams s),
            (select md5(string_agg(c.oid || c.relname || c.relowner || coalesce(c.relacl::text, ''), '' order by c.oid))
                from pg_class c join pg_namespace n on c.relnamespace = n.oid where nspname in ('ledger', 'audit')),
            (select md5(string_agg(f.oid || coalesce(f.proacl::text, '') || f.prosrc, '' order by f.oid))
                from pg_proc f join pg_namespace n on f.pronamespace = n.oid where nspname in ('ledger', 'audit')),
            (select md5(string_agg(tgname || tgenabled::text, '' order by oid)) from pg_trigger where not tgisinternal),
            (select string_agg(nspname, ',' order by nspname) from pg_namespace where nspname !~ '^pg_'),
            (select count(*) from ledger.auditors)
    """
    with psycopg.connect(libpq(database.admin_url)) as connection:
        return connection.execute(query).fetchone()


@pytest.mark.parametrize("kind", RESTRICTED)
def test_what_nobody_may_is_refused_to_each(attacked, module_database, kind):
    before = fingerprint(module_database)
    passed = []
    with attacked[kind].connection() as connection:
        for statement in EVERYBODY:
            said = refused(connection, statement)
            if not isinstance(said, NO):
                passed.append((statement, said))
        for statement in NOT_IN_A_TRANSACTION:
            with pytest.raises(NO):
                connection.execute(statement)
    assert passed == []
    assert fingerprint(module_database) == before


@pytest.mark.parametrize("kind", list(EACH))
def test_what_is_not_its_duty_is_refused(attacked, module_database, kind):
    before = fingerprint(module_database)
    passed = []
    with attacked[kind].connection() as connection:
        for statement in EACH[kind]:
            said = refused(connection, statement)
            if not isinstance(said, NO):
                passed.append((statement, said))
    assert passed == []
    assert fingerprint(module_database) == before


def test_each_statement_would_work_for_who_may(module_database, attacked):
    """The negative control: an attack that fails for everybody, say for a misspelled name, would prove nothing."""
    broken = []
    # A superuser may do all of it; what he is refused for other reasons is named here.
    others = (
        errors.RestrictViolation,  # by trigger
        errors.CheckViolation,
        errors.UniqueViolation,
        errors.DependentObjectsStillExist,
        errors.ActiveSqlTransaction,
        errors.FeatureNotSupported,
        errors.ObjectNotInPrerequisiteState,
        errors.InvalidParameterValue,
        errors.InvalidObjectDefinition,
        errors.QueryCanceled,
    )
    skipped = ("copy", "select lo_", "select pg_r", "select pg_p", "load")
    with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as admin:
        admin.execute("set statement_timeout = '10s'")
        for statement in [*EVERYBODY, *(one for each in EACH.values() for one in each)]:
            if not statement.startswith(skipped):
                said = refused(admin, statement)
                if said is not None and not isinstance(said, others):
                    broken.append((statement, said))
    assert broken == []


@pytest.mark.parametrize("kind", RESTRICTED)
def test_no_login_becomes_another_group_or_login(attacked, kind):
    own = (
        {f"commitgate_{kind}"}
        if kind != SERVICE
        else {
            "commitgate_service",
            *(f"commitgate_{duty}" for duty in ("writer", "dispatcher", "sealer", "reconciler")),
        }
    )
    roles = {f"commitgate_{one}" for one in KINDS if one != NOBODY} | {
        login.name for login in attacked.values() if login is not attacked[kind]
    }
    with attacked[kind].connection() as connection:
        for role in sorted(roles - own):
            for statement in (
                f"set role {role}",
                f"set session authorization {role}",
                f"grant {role} to current_user",
            ):
                assert isinstance(refused(connection, statement), NO), statement
        # What it may become is no more than it is, and does not change who it is.
        for role in sorted(own & roles):
            with connection.transaction(force_rollback=True):
                connection.execute(f"set role {role}")
                assert connection.execute("select session_user").fetchone() == (attacked[kind].name,)
                assert isinstance(refused(connection, "delete from ledger.events"), NO)


@pytest.mark.parametrize("kind", RESTRICTED)
def test_nobody_hands_on_what_was_granted(attacked, module_database, kind):
    """Postgres warns, and grants nothing, where somebody has a privilege without the right to grant it."""
    before = fingerprint(module_database)
    with attacked[kind].connection() as connection:
        for target in ("public", attacked[NOBODY].name):
            for statement in (
                f"grant select, insert, update on ledger.events to {target}",
                f"grant usage on schema ledger to {target}",
                f"grant execute on function ledger.effect_rank(text) to {target}",
                "revoke all on ledger.events from commitgate_writer",
            ):
                with suppress(*NO):
                    connection.execute(statement)
    assert fingerprint(module_database) == before


@pytest.mark.parametrize("kind", RESTRICTED)
@pytest.mark.parametrize("function", decisions.LENDING)
def test_nobody_fires_a_function_with_its_owners_rights_from_a_table_of_ones_own(attacked, kind, function):
    with attacked[kind].connection() as connection:
        connection.execute(
            "create temp table mine as select 0::smallint as shard, 't' as tenant, 'k' as commit_key"
        )
        trigger = f"create trigger mine after update on mine for each row execute function {function}"
        assert isinstance(refused(connection, trigger), NO)


def test_a_login_cannot_end_the_session_of_another(attacked):
    with attacked[Duty.WRITER].connection() as victim:
        pid = victim.info.backend_pid
        for kind in (*EACH, SERVICE):
            if kind is Duty.WRITER:
                continue
            with attacked[kind].connection() as connection:
                for call in ("pg_terminate_backend", "pg_cancel_backend"):
                    assert isinstance(refused(connection, f"select {call}({pid})"), NO), kind
        assert victim.execute("select 1").fetchone() == (1,)


def test_a_login_sees_no_statistics_of_values_that_it_may_not_read(attacked, module_database):
    with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as admin:
        admin.execute("analyze ledger.events")
        query = "select count(*) from pg_stats where schemaname = 'ledger' and tablename = 'events'"
        assert admin.execute(query).fetchone() != (0,)
    for kind in (Duty.AUDITOR, NOBODY):
        assert attacked[kind].run(query) == [(0,)]


def test_large_objects_are_each_their_makers(attacked):
    """Postgres lets every login make one of its own; it reaches neither files nor anybody else's."""
    [(made,)] = attacked[Duty.WRITER].run("select lo_from_bytea(0, 'mine')")
    for kind in (Duty.AUDITOR, Duty.DISPATCHER, NOBODY):
        with attacked[kind].connection() as connection:
            for statement in (
                f"select lo_get({made})",
                f"select lo_put({made}, 0, 'x')",
                f"select lo_unlink({made})",
            ):
                assert isinstance(refused(connection, statement), NO)
    attacked[Duty.WRITER].run(f"select lo_unlink({made})")


@pytest.fixture
def dblink(module_database) -> Iterator[None]:
    with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as admin:
        admin.execute("create extension dblink schema public")
        yield
        admin.execute("drop extension dblink")


@pytest.mark.usefixtures("dblink")
@pytest.mark.parametrize("kind", [Duty.AUDITOR, Duty.WRITER, NOBODY])
def test_dblink_is_no_way_round(attacked, module_database, kind):
    """A server that trusts its own socket would take a connection back to itself for anybody's."""
    place = module_database.admin_url.split("?", 1)
    at = place[1].replace("%2F", "/").replace("&", " ") if len(place) > 1 else "host=127.0.0.1"
    target = f"dbname={module_database.name} user=postgres {at}"
    with attacked[kind].connection() as connection:
        for call in (
            f"dblink_connect('{target}')",
            f"dblink('{target}', 'select 1')",
            f"dblink_connect_u('{target}')",
        ):
            said = refused(connection, f"select public.{call}")
            assert isinstance(said, psycopg.Error), call
            # "password or GSSAPI delegated credentials required", or no grant on the function at all
            assert said.sqlstate in ("2F003", "42501"), said


UNACCEPTED = "turn-unaccepted"
UNLICENSED = (
    "insert into ledger.dispatches (shard, tenant, commit_key, intent_id, attempt, branch, effect, once_key, worker,"
    " epoch, lease_until, started_seq, open) select shard, tenant, commit_key, 'i1', 1, 'main', 'WRITE', 'i1', 'me', 1,"
    f" now(), seq, true from ledger.events where commit_key = '{UNACCEPTED}' and type = 'dispatch.started'"
)
# Whoever may make types in pg_temp makes one called text; to the eyes of a function that looks there first, every
# payload says then that its block closed at seq 1 and spans nothing.
LYING = [
    "create type pg_temp.text as enum ('main', 'lie')",
    "create function pg_temp.took(pg_catalog.text) returns pg_temp.text language sql"
    " as $$ select case $1 when 'main' then 'main'::pg_temp.text else 'lie'::pg_temp.text end $$",
    "create function pg_temp.gave(pg_temp.text) returns pg_catalog.json language sql"
    """ as $$ select '{"closed_seq": 1, "span": [0, 0]}'::pg_catalog.json $$""",
    "create cast (pg_catalog.text as pg_temp.text) with function pg_temp.took(pg_catalog.text) as implicit",
    "create cast (pg_temp.text as pg_catalog.text) with inout as implicit",
    "create cast (pg_temp.text as pg_catalog.json) with function pg_temp.gave(pg_temp.text)",
]


@pytest.fixture
def unaccepted(attacked) -> None:
    """A WRITE whose block was cut, and a dispatch.started that should not be there."""
    with attacked[SERVICE].engine() as engine:
        ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
        if not ledger.read(TENANT, UNACCEPTED).exists:
            told = (opened(), drafted(0, 6), held(), ruled(0, 6, 1), started())
            ledger.append(TENANT, UNACCEPTED, these(*told))


@pytest.mark.usefixtures("unaccepted")
def test_a_type_of_ones_own_turns_no_check_around(attacked):
    with attacked[Duty.DISPATCHER].connection() as connection:
        for statement in LYING:
            connection.execute(statement)
        said = refused(connection, UNLICENSED)
        assert isinstance(said, errors.CheckViolation), said
        assert said.diag.constraint_name == "licence_block_accepted"


@pytest.mark.usefixtures("unaccepted")
def test_it_would_where_functions_looked_there_first(module_database, attacked):
    """The negative control of the test above, and the reason for pg_temp at the end of their search_path."""
    with psycopg.connect(libpq(module_database.owner_url), autocommit=True) as owner:
        try:
            owner.execute("alter function ledger.check_licence() set search_path = pg_catalog")
            with attacked[Duty.DISPATCHER].connection() as connection:
                for statement in LYING:
                    connection.execute(statement)
                assert refused(connection, UNLICENSED) is None
        finally:
            owner.execute("alter function ledger.check_licence() set search_path = pg_catalog, pg_temp")
