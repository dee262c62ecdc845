"""A real login for each duty, and for nobody in particular, on one test database."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from secrets import token_hex

import psycopg
from psycopg import errors, sql
from sqlalchemy import Engine, make_url

from ledger.access.duty import SERVICE_ROLE, Duty
from ledger.connect import connect
from tests.postgres import PASSWORD, TestDatabase, libpq

SERVICE, NOBODY = "service", "nobody"
KINDS = (*Duty, SERVICE, NOBODY)
"""Every duty, the services' login that holds several, and a login without any."""

RESTRICTED = tuple(kind for kind in KINDS if kind is not Duty.MIGRATOR)


@dataclass(frozen=True)
class Login:
    """A role that logs in, in the group of one duty and in no other."""

    name: str
    url: str
    admin_url: str

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        with psycopg.connect(libpq(self.url), autocommit=True) as connection:
            yield connection

    def run(self, statement: str) -> list[tuple[object, ...]]:
        """Run one statement as this login, for good; its rows."""
        with self.connection() as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def admin(self, statement: str) -> list[tuple[object, ...]]:
        """Run one statement as a superuser in the same database."""
        with psycopg.connect(libpq(self.admin_url), autocommit=True) as connection:
            cursor = connection.execute(statement.replace("{}", self.name))
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        made = connect(self.url)
        try:
            yield made
        finally:
            made.dispose()


@contextmanager
def login(database: TestDatabase, *groups: str, attributes: str = "") -> Iterator[Login]:
    """A new login in ``groups``, gone at the end with what it owns in the database."""
    name = f"commitgate_test_{token_hex(6)}"
    url = make_url(database.owner_url).set(username=name).render_as_string(hide_password=False)
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as admin:
        named = sql.Identifier(name)
        admin.execute(
            sql.SQL("create role {} login " + attributes + " password {}").format(
                named, sql.Literal(PASSWORD)
            )
        )
        try:
            for group in groups:
                admin.execute(sql.SQL("grant {} to {}").format(sql.Identifier(group), named))
            yield Login(name, url, database.admin_url)
        finally:
            admin.execute(sql.SQL("drop owned by {} cascade").format(named))
            admin.execute(sql.SQL("drop role {}").format(named))


@contextmanager
def logins(database: TestDatabase) -> Iterator[dict[str, Login]]:
    """One login for each of ``KINDS``."""
    groups = {SERVICE: (SERVICE_ROLE,), NOBODY: ()}
    with ExitStack() as stack:
        yield {
            kind: stack.enter_context(login(database, *groups.get(kind, (f"commitgate_{kind}",))))
            for kind in KINDS
        }


def refused(connection: psycopg.Connection, statement: str) -> Exception | None:
    """What the database says to a statement that is taken back at once; None where it lets it pass."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement)
    except psycopg.Error as error:
        return error
    return None


def is_forbidden(error: Exception | None) -> bool:
    """Whether a statement failed for want of a privilege, and for nothing else."""
    return isinstance(error, errors.InsufficientPrivilege)
