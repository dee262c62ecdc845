"""Auditors of a test: logins of the database that are shown one tenant, and what they ask."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

from ledger.access.auditors import add_auditor
from tests.postgres import PASSWORD, TestDatabase, libpq

VIEWS = (
    "tokens",
    "rulings",
    "intents",
    "dispatches",
    "timeline",
    "dispatched_vs_accepted",
    "early_reads",
    "doubts",
    "bindings",
    "effect_history",
)

Row = dict[str, object]


class Auditor:
    """A connection under a login of its own, in autocommit."""

    def __init__(self, connection: psycopg.Connection[Row], login: str) -> None:
        self.connection = connection
        self.login = login

    def ask(self, query: str, **values: object) -> list[Row]:
        """Rows of ``query``; values by ``%(name)s``."""
        cursor = self.connection.execute(query.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def ask_nothing(self, statement: str) -> None:
        """Run a statement that may have no rows."""
        self.connection.execute(statement.encode())

    def rows(self, view: str, commit_key: str) -> list[Row]:
        """Rows of a view under one commit key, without ``shard`` and ``commit_key``."""
        found = self.ask(f"select * from audit.{view} where commit_key = %(key)s", key=commit_key)
        return [
            {name: value for name, value in row.items() if name not in ("shard", "commit_key")}
            for row in found
        ]


@contextmanager
def auditor_of(database: TestDatabase, tenant: str) -> Iterator[Auditor]:
    """An auditor of ``tenant``; the login goes again at the end."""
    login = f"auditor_{tenant}_{database.name[-12:]}".replace("-", "_")
    quoted = sql.Identifier(login)
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login password {}").format(quoted, sql.Literal(PASSWORD)))
        engine = create_engine(database.admin_url, poolclass=NullPool)
        try:
            add_auditor(engine, login, tenant)
            with _connect(database, login) as connection:
                yield Auditor(connection, login)
        finally:
            engine.dispose()
            admin.execute(sql.SQL("drop owned by {}").format(quoted))
            admin.execute(sql.SQL("drop role {}").format(quoted))


def _connect(database: TestDatabase, login: str) -> psycopg.Connection[Row]:
    url = make_url(database.owner_url).set(username=login, password=PASSWORD)
    text = libpq(url.render_as_string(hide_password=False))
    return psycopg.connect(text, autocommit=True, row_factory=dict_row)
