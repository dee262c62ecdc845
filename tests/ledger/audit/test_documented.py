"""Schema audit is documented column by column, and auditors hold what they need and nothing else."""

import pytest
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from tests.ledger.audit.asking import VIEWS

_UNDOCUMENTED = text("""
select n.nspname || '.' || c.relname || coalesce('.' || a.attname, '')
from pg_class c join pg_namespace n on n.oid = c.relnamespace
left join lateral (
    select attnum, attname from pg_attribute where attrelid = c.oid and attnum > 0
    union all select 0, null
) a on true
where c.relkind = 'v' and n.nspname in ('audit', 'ledger')
    and coalesce(trim(case a.attnum when 0 then obj_description(c.oid, 'pg_class')
        else col_description(c.oid, a.attnum) end), '') = ''
union all
select p.oid::regprocedure::text from pg_proc p
where p.pronamespace = 'audit'::regnamespace and obj_description(p.oid, 'pg_proc') is null
union all
select 'audit' where obj_description('audit'::regnamespace, 'pg_namespace') is null
""")

_HELD = text("""
select privilege || ' ' || c.oid::regclass
from pg_class c join pg_namespace n on n.oid = c.relnamespace,
    unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) privilege
where n.nspname in ('audit', 'ledger') and c.relkind in ('r', 'p', 'v', 'm')
    and has_table_privilege('commitgate_auditor', c.oid, privilege)
union all
select 'EXECUTE ' || p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname in ('audit', 'ledger') and has_function_privilege('commitgate_auditor', p.oid, 'EXECUTE')
union all
select privilege || ' ' || n.nspname from pg_namespace n, unnest(array['USAGE', 'CREATE']) privilege
where n.nspname in ('audit', 'ledger') and has_schema_privilege('commitgate_auditor', n.oid, privilege)
""")

_BARRED = text("""
select c.relname from pg_class c
where c.relnamespace = 'audit'::regnamespace and c.relkind = 'v'
    and 'security_barrier=true' = any (c.reloptions)
""")


@pytest.fixture
def admin(database):
    engine = create_engine(database.admin_url, poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


def undocumented(connection: Connection) -> list[str]:
    return list(connection.execute(_UNDOCUMENTED).scalars())


def test_every_view_and_column_has_a_comment(admin):
    assert undocumented(admin) == []


def test_the_control_a_column_without_one_is_found(admin):
    admin.execute(text("create view audit.bare with (security_barrier) as select 1 as n"))
    admin.execute(text("comment on column audit.timeline.line is null"))
    assert set(undocumented(admin)) == {"audit.bare", "audit.bare.n", "audit.timeline.line"}


def test_the_views_are_those_of_the_interface_each_behind_a_barrier(admin):
    query = text("select relname from pg_class where relnamespace = 'audit'::regnamespace and relkind <> 'c'")
    assert set(admin.execute(query).scalars()) == set(VIEWS)
    assert set(admin.execute(_BARRED).scalars()) == set(VIEWS)


def test_auditors_hold_what_they_need_and_nothing_else(admin):
    # What a view calls is called by whoever asks it; without usage of schema ledger nobody can name it.
    called = {"EXECUTE audit.shard(text,text)", "EXECUTE ledger.told_payload(text)"}
    wanted = {f"SELECT audit.{view}" for view in VIEWS} | called | {"USAGE audit"}
    assert set(admin.execute(_HELD).scalars()) == wanted


def test_nobody_else_looks_into_the_schema(admin):
    query = text("select has_schema_privilege('public', 'audit', 'USAGE')")
    assert admin.execute(query).scalar_one() is False
