"""What logins may do, as the catalogue says: every schema, table, column, sequence and function that is not Postgres' own."""

from collections import defaultdict
from collections.abc import Iterable

import psycopg

Held = dict[tuple[str, str], frozenset[str]]
"""(object, login) to its privileges; every object stands here under every login that was asked about."""

_OURS = "n.nspname !~ '^pg_' and n.nspname <> 'information_schema'"

SCHEMAS = f"""
select n.nspname, l.rolname, p from pg_namespace n, pg_roles l, unnest(array['usage', 'create']) p
where {_OURS} and l.rolname = any(%(logins)s) and has_schema_privilege(l.oid, n.oid, p)
"""
TABLES = f"""
with ours as (
    select c.oid, n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on c.relnamespace = n.oid
    where {_OURS} and c.relkind in ('r', 'p', 'v', 'm', 'f')
)
select ours.name, l.rolname, p from ours, pg_roles l,
    unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) p
where l.rolname = any(%(logins)s) and has_table_privilege(l.oid, ours.oid, p)
union all
select ours.name, l.rolname, p || '(' || a.attname || ')' from ours
    join pg_attribute a on a.attrelid = ours.oid and a.attnum > 0 and not a.attisdropped, pg_roles l,
    unnest(array['select', 'insert', 'update', 'references']) p
where l.rolname = any(%(logins)s) and has_column_privilege(l.oid, ours.oid, a.attnum, p)
    and not has_table_privilege(l.oid, ours.oid, p)
"""
SEQUENCES = f"""
select n.nspname || '.' || c.relname, l.rolname, p from pg_class c join pg_namespace n on c.relnamespace = n.oid,
    pg_roles l, unnest(array['usage', 'select', 'update']) p
where {_OURS} and c.relkind = 'S' and l.rolname = any(%(logins)s) and has_sequence_privilege(l.oid, c.oid, p)
"""
FUNCTIONS = f"""
select n.nspname || '.' || f.proname || '(' || replace(oidvectortypes(f.proargtypes), ', ', ',') || ')',
    l.rolname, 'execute'
from pg_proc f join pg_namespace n on f.pronamespace = n.oid, pg_roles l
where {_OURS} and l.rolname = any(%(logins)s) and has_function_privilege(l.oid, f.oid, 'execute')
"""
_NAMES = {
    SCHEMAS: f"select n.nspname from pg_namespace n where {_OURS}",
    TABLES: f"""select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on c.relnamespace = n.oid
        where {_OURS} and c.relkind in ('r', 'p', 'v', 'm', 'f')""",
    SEQUENCES: f"""select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on c.relnamespace = n.oid
        where {_OURS} and c.relkind = 'S'""",
    FUNCTIONS: f"""
        select n.nspname || '.' || f.proname || '(' || replace(oidvectortypes(f.proargtypes), ', ', ',') || ')'
        from pg_proc f join pg_namespace n on f.pronamespace = n.oid
        where {_OURS} and f.prorettype <> 'trigger'::regtype""",
}
TRIGGERS = f"""
select n.nspname || '.' || f.proname || '()' from pg_proc f join pg_namespace n on f.pronamespace = n.oid
where {_OURS} and f.prorettype = 'trigger'::regtype
"""
MADE_PUBLIC = f"""
with acls as (
    select n.nspname as name, coalesce(n.nspacl, acldefault('n', n.nspowner)) as acl from pg_namespace n
    where {_OURS} and n.nspname <> 'public'
    union all
    select n.nspname || '.' || c.relname,
        coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))
    from pg_class c join pg_namespace n on c.relnamespace = n.oid where {_OURS} and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    union all
    select n.nspname || '.' || c.relname || '.' || a.attname, a.attacl
    from pg_attribute a join pg_class c on a.attrelid = c.oid join pg_namespace n on c.relnamespace = n.oid
    where {_OURS} and a.attacl is not null
    union all
    select n.nspname || '.' || f.proname, coalesce(f.proacl, acldefault('f', f.proowner))
    from pg_proc f join pg_namespace n on f.pronamespace = n.oid where {_OURS}
)
select name, privilege_type from acls, aclexplode(acl) where grantee = 0
"""


def objects(connection: psycopg.Connection, query: str) -> list[str]:
    """Names of the objects that a query of this module is about; those of triggers' functions apart."""
    return sorted(name for (name,) in connection.execute(_NAMES[query]))


def held(connection: psycopg.Connection, query: str, logins: Iterable[str]) -> Held:
    """Who holds what, inherited and by PUBLIC too."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    asked = list(logins)
    for name, login, privilege in connection.execute(query, {"logins": asked}):
        found[name, login].add(privilege)
    return {
        (name, login): frozenset(found[name, login]) for name in objects(connection, query) for login in asked
    } | {place: frozenset(words) for place, words in found.items()}
