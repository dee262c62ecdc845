"""Every privilege of every login on every object is one that was decided; and the server acts as its catalogue says."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.ledger.roles import catalogue, decisions
from tests.ledger.roles.logins import KINDS, RESTRICTED, Login, is_forbidden, refused
from tests.postgres import libpq

KINDS_OF_OBJECTS = [
    (catalogue.SCHEMAS, decisions.SCHEMAS),
    (catalogue.TABLES, decisions.TABLES),
    (catalogue.FUNCTIONS, decisions.FUNCTIONS),
    (catalogue.SEQUENCES, {}),
]


@pytest.fixture
def admin(module_database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as connection:
        yield connection


def objects(admin: psycopg.Connection, query: str) -> list[str]:
    """What needs a decision of its own."""
    return [name for name in catalogue.objects(admin, query) if not name.startswith(decisions.INNER_VIEWS)]


def undecided(admin: psycopg.Connection, people: dict[str, Login]) -> list[str]:
    """Each object without a decision, and each privilege that is not the one that was decided."""
    found = []
    triggers = {name for (name,) in admin.execute(catalogue.TRIGGERS)}
    kinds = {people[kind].name: kind for kind in RESTRICTED}
    for query, table in KINDS_OF_OBJECTS:
        found += [f"{name}: no decision" for name in objects(admin, query) if name not in table]
        for (name, login), privileges in catalogue.held(admin, query, kinds).items():
            decision = decisions.NOBODY if name in triggers else table.get(name, decisions.NOBODY)
            due = decisions.decided(decision, kinds[login])
            if privileges != due:
                found.append(f"{name}: {kinds[login]} may {sorted(privileges)}, decided is {sorted(due)}")
    return found


def test_every_privilege_was_decided(admin, people):
    assert undecided(admin, people) == []


def test_every_decision_is_about_something(admin):
    for query, table in KINDS_OF_OBJECTS:
        assert sorted(table) == objects(admin, query)


@pytest.mark.parametrize(
    ("grants", "named"),
    [
        (["create table ledger.forgotten (n int)"], "ledger.forgotten: no decision"),
        (["create view audit.forgotten as select 1 as n"], "audit.forgotten: no decision"),
        (["create schema forgotten"], "forgotten: no decision"),
        (["create function ledger.forgotten() returns int return 1"], "ledger.forgotten(): no decision"),
        (["create sequence ledger.forgotten"], "ledger.forgotten: no decision"),
        (["grant insert on ledger.dispatches to commitgate_writer"], "ledger.dispatches: writer may"),
        (["grant update (payload) on ledger.events to commitgate_writer"], "ledger.events: writer may"),
        (["grant update (type) on ledger.events to commitgate_redactor"], "ledger.events: redactor may"),
        (["grant select on ledger.auditors to commitgate_auditor"], "ledger.auditors: auditor may"),
        (["grant usage on schema ledger to commitgate_auditor"], "ledger: auditor may"),
        (["grant select on ledger.events to public"], "ledger.events: nobody may"),
        (["grant truncate on ledger.events to commitgate_service"], "ledger.events: service may"),
        (["grant commitgate_redactor to commitgate_service"], "ledger.events: service may"),
        (["revoke insert on ledger.events from commitgate_dispatcher"], "ledger.events: dispatcher may"),
        (
            ["grant execute on function ledger.refuse_change() to public"],
            "ledger.refuse_change(): nobody may",
        ),
    ],
)
def test_what_was_not_decided_is_found(admin, people, grants, named):
    """The negative control: each of these turns the test above red."""
    with admin.transaction(force_rollback=True):
        for grant in grants:
            admin.execute(grant)
        assert any(line.startswith(named) for line in undecided(admin, people))
    assert undecided(admin, people) == []


TRIES = {
    "select": "select {columns} from {table} limit 0",
    "insert": "insert into {table} default values",
    "delete": "delete from {table} where false",
    "truncate": "truncate {table}",
    "trigger": "create trigger mine before insert on {table} for each row"
    " execute function suppress_redundant_updates_trigger()",
    "lock": "lock table {table} in access exclusive mode",
    "disable": "alter table {table} disable trigger all",
    "own": "alter table {table} add column mine int",
    "drop": "drop table {table}",
}


@pytest.mark.parametrize("kind", RESTRICTED)
def test_the_server_acts_as_the_catalogue_says(admin, people, kind):
    """Not what the catalogue answers, but what happens: each statement on each table, column by column."""
    tables = [name for name in catalogue.objects(admin, catalogue.TABLES) if name.startswith("ledger.")]
    wrong = []
    with people[kind].connection() as connection:
        for table in tables:
            may = decisions.decided(decisions.TABLES.get(table, decisions.NOBODY), kind)
            names = [
                name
                for (name,) in admin.execute(
                    "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0"
                    " and not attisdropped",
                    (table,),
                )
            ]
            tries = {word: text.format(table=table, columns=", ".join(names)) for word, text in TRIES.items()}
            tries |= {f"update({name})": f"update {table} set {name} = {name} where false" for name in names}
            for word, statement in tries.items():
                # A lock that shuts everybody out is for who changes rows of the whole table.
                due = {"lock": {"update", "delete", "truncate"}}.get(word, {word, word.split("(")[0]})
                # Setting a column to itself reads it too.
                allowed = bool(due & may) and ("select" in may or not word.startswith("update"))
                said = refused(connection, statement)
                # A view that cannot be written to at all says that first.
                right = (
                    not is_forbidden(said)
                    if allowed
                    else is_forbidden(said) or (said and table.startswith(decisions.INNER_VIEWS))
                )
                wrong += [] if right else [statement]
    assert wrong == []


def test_nothing_is_granted_to_everybody(admin):
    assert admin.execute(catalogue.MADE_PUBLIC).fetchall() == []


@pytest.mark.parametrize(
    "grant",
    [
        "grant usage on schema ledger to public",
        "grant select (seq) on ledger.events to public",
        "create function audit.everybodys() returns int return 1",
        "grant select on all tables in schema audit to public",
    ],
)
def test_what_is_granted_to_everybody_is_found(admin, grant):
    with admin.transaction(force_rollback=True):
        admin.execute(grant)
        assert admin.execute(catalogue.MADE_PUBLIC).fetchall() != []


def test_everything_belongs_to_the_migrators_group(admin):
    query = """
        select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on c.relnamespace = n.oid
        where n.nspname in ('ledger', 'audit') and c.relkind in ('r', 'p', 'v', 'm', 'S')
            and c.relowner <> 'commitgate_migrator'::regrole
        union all
        select f.oid::regprocedure::text from pg_proc f join pg_namespace n on f.pronamespace = n.oid
        where n.nspname in ('ledger', 'audit') and f.proowner <> 'commitgate_migrator'::regrole
        union all
        select nspname from pg_namespace
        where nspname in ('ledger', 'audit') and nspowner <> 'commitgate_migrator'::regrole
    """
    assert admin.execute(query).fetchall() == []


def test_no_other_function_lends_its_owners_rights(admin):
    query = """
        select f.oid::regprocedure::text from pg_proc f join pg_namespace n on f.pronamespace = n.oid
        where n.nspname in ('ledger', 'audit') and f.prosecdef
    """
    assert [name for (name,) in admin.execute(query)] == decisions.LENDING


def test_functions_look_into_the_callers_own_schema_last(admin):
    """Else a login's own type would be taken for the type of that name. Bodies in standard SQL are bound once, at creation."""
    query = """
        select f.oid::regprocedure::text from pg_proc f join pg_namespace n on f.pronamespace = n.oid
        where n.nspname in ('ledger', 'audit') and f.prosqlbody is null
            and not ('search_path=pg_catalog, pg_temp' = any(coalesce(f.proconfig, '{}')))
            and f.proname <> 'effect_rank'
    """
    assert admin.execute(query).fetchall() == []


def test_groups_hold_no_attribute_and_no_group_but_those_of_the_services(admin):
    query = """
        select rolname from pg_roles where rolname = any(%s)
            and (rolsuper or rolcanlogin or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)
    """
    groups = [f"commitgate_{kind}" for kind in KINDS]
    assert admin.execute(query, (groups,)).fetchall() == []
    members = """
        select m.member::regrole::text, m.roleid::regrole::text from pg_auth_members m
        where m.member::regrole::text = any(%s)
    """
    held = sorted(admin.execute(members, (groups,)).fetchall())
    services = ("dispatcher", "reconciler", "sealer", "writer")
    assert held == [("commitgate_service", f"commitgate_{duty}") for duty in services]
