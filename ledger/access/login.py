"""What a login may do, and that the login of a service may do its work and no more."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Engine, text

from ledger.access.duty import SERVICE_DUTIES, SERVICE_ROLE, Duty
from ledger.errors import MissingPrivileges, SchemaOutdated, UnsafeLogin
from ledger.migrate import check_newest, head
from ledger.schema import SCHEMA


@dataclass(frozen=True, slots=True)
class _Powers:
    """What the session's login may do. SQL answers one column a field."""

    login: str
    superuser: bool
    bypasses_row_security: bool
    creates_roles: bool
    replicates: bool
    reaches_server: bool
    owns_ledger: bool
    creates_in_schema: bool
    changes_events: bool
    redacts_events: bool
    removes_dispatches: bool
    maps_auditors: bool
    beyond: list[str]
    duties: list[str]
    reads_version: bool

    def unsafe(self, needs: Collection[Duty]) -> list[str]:
        """Each power that a login with these duties must not have, in words."""
        words = {
            "is a superuser": self.superuser,
            "bypasses row level security": self.bypasses_row_security,
            "can create roles": self.creates_roles,
            "can replicate the database": self.replicates,
            "can reach files or programs of the server": self.reaches_server,
            "owns the ledger or is a member of its owner": self.owns_ledger,
            "can create objects in the ledger's schema": self.creates_in_schema,
            "can change or remove events": self.changes_events
            or (self.redacts_events and Duty.REDACTOR not in needs),
            "can remove dispatches": self.removes_dispatches,
            "can say whose auditor a login is": self.maps_auditors,
        }
        named = [word for word, has in words.items() if has]
        # What has a name says more than the privileges that it comes with.
        return named or [f"can {privilege}, which is none of its duties" for privilege in self.beyond]


# Every role that the login can become counts, inherited or not; what it may do, counts as it stands. The catalogues
# are asked by oid: names in a schema that the login may not look into raise instead of answering.
_POWERS = text("""
with ledger as (
    select n.oid, n.nspowner, n.nspname from pg_catalog.pg_namespace n where n.nspname in (:schema, 'audit')
), tables as (
    select c.oid, c.relname::text as name, c.relkind, c.relowner, ledger.nspname from pg_catalog.pg_class c
    join ledger on c.relnamespace = ledger.oid where c.relkind in ('r', 'p', 'v', 'm')
), own as (
    select oid, name, relkind from tables where nspname = :schema
), mine as materialized (
    select m.* from pg_catalog.pg_roles m where pg_has_role(session_user, m.oid, 'MEMBER')
), allowed as (
    select r.oid from pg_catalog.pg_roles r where r.rolname = :limit
), columns as (
    select own.oid, own.name, a.attnum, a.attname::text as attname from own
    join pg_catalog.pg_attribute a on a.attrelid = own.oid and a.attnum > 0 and not a.attisdropped
    where own.relkind in ('r', 'p')
), held as (
    select privilege || ' ' || own.name as what
    from own, mine, allowed, unnest(array['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER', 'REFERENCES']) privilege
    where has_table_privilege(mine.oid, own.oid, privilege) and not has_table_privilege(allowed.oid, own.oid, privilege)
    union
    select privilege || ' ' || columns.name || '.' || columns.attname
    from columns, mine, allowed, unnest(array['INSERT', 'UPDATE', 'REFERENCES']) privilege
    where has_column_privilege(mine.oid, columns.oid, columns.attnum, privilege)
        and not has_column_privilege(allowed.oid, columns.oid, columns.attnum, privilege)
        and not has_table_privilege(mine.oid, columns.oid, privilege)
), works (duty, name, attname, privilege) as (
    values ('writer', 'batches', null, 'INSERT'), ('writer', 'events', null, 'INSERT'),
        ('dispatcher', 'dispatches', null, 'INSERT'), ('dispatcher', 'events', null, 'INSERT'),
        ('sealer', 'seals', null, 'INSERT'), ('sealer', 'events', null, 'SELECT'),
        ('reconciler', 'dispatches', null, 'SELECT'), ('reconciler', 'events', null, 'SELECT'),
        ('reconciler', 'seals', null, 'SELECT'),
        ('redactor', 'events', null, 'SELECT'), ('redactor', 'events', 'payload', 'UPDATE'),
        ('redactor', 'events', 'salt', 'UPDATE')
), done as (
    select duty from works left join own on own.name = works.name group by duty
    having bool_and(own.oid is not null and case when attname is null
        then has_table_privilege(session_user, own.oid, privilege)
        else has_column_privilege(session_user, own.oid, attname, privilege) end)
)
select
    session_user,
    bool_or(m.rolsuper),
    bool_or(m.rolbypassrls),
    bool_or(m.rolcreaterole),
    bool_or(m.rolreplication),
    bool_or(m.rolname in ('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files')),
    bool_or(m.rolname = :migrator
        or m.oid in (select nspowner from ledger union all select relowner from tables)),
    bool_or(exists (select from ledger where has_schema_privilege(m.oid, ledger.oid, 'CREATE'))),
    bool_or(exists (select from own where name = 'events'
        and has_table_privilege(m.oid, own.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER'))
        or exists (select from columns c where c.name = 'events' and c.attname not in ('payload', 'salt')
            and has_column_privilege(m.oid, c.oid, c.attnum, 'UPDATE'))),
    bool_or(exists (select from columns c where c.name = 'events' and c.attname in ('payload', 'salt')
        and has_column_privilege(m.oid, c.oid, c.attnum, 'UPDATE'))),
    bool_or(exists (select from own where name = 'dispatches'
        and has_table_privilege(m.oid, own.oid, 'DELETE, TRUNCATE, TRIGGER'))),
    bool_or(exists (select from own where name = 'auditors' and (
        has_table_privilege(m.oid, own.oid, 'DELETE, TRUNCATE, TRIGGER')
        or has_any_column_privilege(m.oid, own.oid, 'INSERT, UPDATE')))),
    coalesce((select array_agg(what order by what) from held), '{}'),
    coalesce((select array_agg(duty) from done, ledger where ledger.nspname = :schema
        and has_schema_privilege(session_user, ledger.oid, 'USAGE')), '{}'),
    exists (select from own where name = 'alembic_version' and has_table_privilege(session_user, oid, 'SELECT'))
from mine m
""")

_MIGRATED = text("""
select exists (
    select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on c.relnamespace = n.oid
    where n.nspname = :schema and c.relname = 'alembic_version'
)
""")


def check_login(engine: Engine, needs: Collection[Duty]) -> frozenset[Duty]:
    """Make sure that a process may work under this engine's login and database; called once, before it begins.

    ``needs``: what it is going to do: duties of a service, or REDACTOR alone. Gives every duty that the login holds.
    Raises UnsafeLogin where the login is superuser, owner, migrator, or could otherwise do more than its duty;
    SchemaOutdated where the newest migration is not applied (a redactor cannot see that); MissingPrivileges where
    a duty that is needed is missing. ValueError: nobody works under such duties.
    """
    if not needs or not (SERVICE_DUTIES.issuperset(needs) or set(needs) == {Duty.REDACTOR}):
        raise ValueError(f"no process works under the duties {sorted(needs)}")
    limit = Duty.REDACTOR.role if Duty.REDACTOR in needs else SERVICE_ROLE
    with engine.connect() as connection:
        if not connection.execute(_MIGRATED, {"schema": SCHEMA}).scalar_one():
            raise SchemaOutdated(None, head())
        terms = {"schema": SCHEMA, "limit": limit, "migrator": Duty.MIGRATOR.role}
        powers = _Powers(*connection.execute(_POWERS, terms).one())
        if unsafe := powers.unsafe(needs):
            raise UnsafeLogin(powers.login, unsafe)
        if powers.reads_version:
            check_newest(connection)
    held = frozenset(map(Duty, powers.duties))
    if missing := sorted(set(needs) - held):
        raise MissingPrivileges(powers.login, [duty.role for duty in missing])
    return held
