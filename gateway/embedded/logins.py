"""Logins of the embedded database, one for each duty of a process, beside the one of the services.

The groups are made by the migration, on new homes and on those that are older than the groups; so these are made after it.
"""

import psycopg
from psycopg import sql

from gateway.embedded.notice import APP
from ledger.access.duty import SERVICE_DUTIES, Duty

LOGINS = {duty: f"{APP}_{duty.value}" for duty in sorted({*SERVICE_DUTIES, Duty.REDACTOR})}
"""Login of each duty; the login of all duties of a service is ``commitgate_app``."""


def ensure_logins(owner_url: str) -> None:
    """Make those that are missing. ``owner_url``: the embedded owner's, at the newest schema; it may create roles."""
    with psycopg.connect(owner_url.replace("+psycopg", "", 1), autocommit=True) as connection:
        there = {name for (name,) in connection.execute("select rolname from pg_catalog.pg_roles")}
        for duty, login in LOGINS.items():
            if login not in there:
                _make(connection, login, duty.role)


def _make(connection: psycopg.Connection, login: str, group: str) -> None:
    statement = sql.SQL("create role {} login in role {}")
    try:
        connection.execute(statement.format(sql.Identifier(login), sql.Identifier(group)))
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        return  # by another process of this home, just now
