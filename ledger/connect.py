"""Connections of the services: how they are made, and what their login must not be able to do."""

import time
from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from ledger.errors import MissingPrivileges, SchemaOutdated, UnsafeLogin
from ledger.migrate import current_revision, head
from ledger.schema import SCHEMA, SERVICE_ROLE
from ledger.url import database_url

LOCK_TIMEOUT = "10s"
IDLE_IN_TRANSACTION_TIMEOUT = "60s"
RESTED = 1.0
"""Seconds after which a pooled connection is asked whether it still lives, before it is used again."""

_LAST_USED = "commitgate.last_used"

# A dispatch row has to be durable before anything is sent, whatever the server's default is; remote_apply is
# more than is asked for and stays. The last parameter of set_config: for this transaction alone.
_SETTINGS = """
select
    set_config('synchronous_commit',
        case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end,
        {local}),
    set_config('lock_timeout', '{lock_timeout}', {local}),
    set_config('idle_in_transaction_session_timeout', '{idle_timeout}', {local})
"""


def connect(
    url: str, *, pgbouncer: bool = False, pool_size: int = 10, application_name: str = "commitgate"
) -> Engine:
    """A pool of connections to the ledger; none is opened yet.

    ``pgbouncer``: a pooler in transaction mode stands between. Then nothing is prepared and nothing is set
    for a session: settings are made inside each transaction. ``pool_size``: connections kept; as many again
    may be opened for a while. Every transaction commits with ``synchronous_commit`` on. Raises
    BadDatabaseUrl.
    """
    driver_arguments: dict[str, object] = {"application_name": application_name}
    if pgbouncer:
        driver_arguments["prepare_threshold"] = None
    engine = create_engine(
        database_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        isolation_level="READ COMMITTED",
        connect_args=driver_arguments,
    )
    event.listen(engine, "checkin", _note_time)
    event.listen(engine, "checkout", _ping_after_rest)
    if pgbouncer:
        event.listen(engine, "begin", _set_for_transaction)
    else:
        event.listen(engine, "connect", _set_for_session)
    return engine


def _note_time(_connection: object, record: ConnectionPoolEntry) -> None:
    record.info[_LAST_USED] = time.monotonic()


def _ping_after_rest(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Ask a connection that rested whether it still lives. One in steady use need not be asked each time."""
    if time.monotonic() - record.info.get(_LAST_USED, time.monotonic()) < RESTED:
        return
    try:
        connection.execute("select 1")
        connection.rollback()
    except psycopg.Error as error:
        # The pool opens another one and tries again.
        raise DisconnectionError(str(error)) from error


def _settings(*, local: bool) -> str:
    return _SETTINGS.format(
        local=str(local).lower(), lock_timeout=LOCK_TIMEOUT, idle_timeout=IDLE_IN_TRANSACTION_TIMEOUT
    )


def _set_for_session(connection: Any, _record: object) -> None:
    connection.execute(_settings(local=False))
    connection.commit()


def _set_for_transaction(connection: Connection) -> None:
    connection.exec_driver_sql(_settings(local=True))


@dataclass(frozen=True, slots=True)
class _Powers:
    """What the session's login may do. SQL answers one column a field."""

    login: str
    superuser: bool
    bypasses_row_security: bool
    creates_roles: bool
    owns_ledger: bool
    creates_in_schema: bool
    changes_events: bool
    removes_dispatches: bool
    appends_events: bool

    def unsafe(self) -> list[str]:
        """Each power that a service must not have, in words."""
        words = {
            "is a superuser": self.superuser,
            "bypasses row level security": self.bypasses_row_security,
            "can create roles": self.creates_roles,
            "owns the ledger or is a member of its owner": self.owns_ledger,
            "can create objects in the ledger's schema": self.creates_in_schema,
            "can change or remove events": self.changes_events,
            "can remove dispatches": self.removes_dispatches,
        }
        return [word for word, has in words.items() if has]


# Every role that the login can become counts, inherited or not. The catalogues are asked by oid: names in a
# schema that the login may not look into raise instead of answering.
_POWERS = text("""
with ledger as (
    select n.oid, n.nspowner from pg_catalog.pg_namespace n where n.nspname = :schema
), tables as (
    select c.oid, c.relname, c.relowner from pg_catalog.pg_class c join ledger on c.relnamespace = ledger.oid
    where c.relkind in ('r', 'p')
)
select
    session_user,
    bool_or(m.rolsuper),
    bool_or(m.rolbypassrls),
    bool_or(m.rolcreaterole),
    bool_or(m.oid in (select nspowner from ledger union all select relowner from tables)),
    bool_or(exists (select from ledger where has_schema_privilege(m.oid, ledger.oid, 'CREATE'))),
    bool_or(exists (select from tables where relname = 'events' and (
        has_table_privilege(m.oid, tables.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER')
        or has_any_column_privilege(m.oid, tables.oid, 'UPDATE')))),
    bool_or(exists (select from tables where relname = 'dispatches'
        and has_table_privilege(m.oid, tables.oid, 'DELETE, TRUNCATE, TRIGGER'))),
    exists (select from tables, ledger where relname = 'events'
        and has_schema_privilege(session_user, ledger.oid, 'USAGE')
        and has_table_privilege(session_user, tables.oid, 'SELECT')
        and has_table_privilege(session_user, tables.oid, 'INSERT'))
from pg_catalog.pg_roles m where pg_has_role(session_user, m.oid, 'MEMBER')
""")

_MIGRATED = text("""
select exists (
    select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on c.relnamespace = n.oid
    where n.nspname = :schema and c.relname = 'alembic_version'
)
""")


def check_service_login(engine: Engine) -> None:
    """Make sure that a service may run on this engine's login and database; called once, before it serves.

    Raises SchemaOutdated where the newest migration is not applied, UnsafeLogin where the login is superuser,
    owner or a member of the owner, or could otherwise change what is recorded, MissingPrivileges where it
    cannot append.
    """
    with engine.connect() as connection:
        if not connection.execute(_MIGRATED, {"schema": SCHEMA}).scalar_one():
            raise SchemaOutdated(None, head())
        powers = _Powers(*connection.execute(_POWERS, {"schema": SCHEMA}).one())
        if unsafe := powers.unsafe():
            raise UnsafeLogin(powers.login, unsafe)
        if not powers.appends_events:
            raise MissingPrivileges(f"database login {powers.login!r} is not a member of {SERVICE_ROLE}")
        current = current_revision(connection)
        if current != head():
            raise SchemaOutdated(current, head())
