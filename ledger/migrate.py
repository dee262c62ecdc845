"""Brings a database to the newest schema, says where it stands, or writes the SQL to do it."""

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.pool import NullPool

import migrations
from ledger.schema import SCHEMA
from ledger.url import database_url

_LOCK = 0x636F6D6D69746774
"""Key of the advisory lock under which upgrades of one database take turns ("commitgt")."""


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """Revision of a database (None: never migrated) and the newest one."""

    current: str | None
    head: str

    @property
    def up_to_date(self) -> bool:
        """Whether nothing is left to apply."""
        return self.current == self.head


def alembic_config(output: StringIO | None = None) -> Config:
    """Alembic's configuration, made in code: there is no alembic.ini. ``output`` takes offline SQL."""
    config = Config(output_buffer=output)
    folder = Path(migrations.__file__).parent
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def head() -> str:
    """The newest revision."""
    revision = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if revision is None:
        raise RuntimeError("no revisions are installed")
    return revision


def upgrade(owner_url: str) -> None:
    """Apply what is missing, in one transaction: all of it or nothing. Upgrades at the same time take turns.

    ``owner_url``: the login that owns the schema; it needs CREATE on the database, and CREATEROLE where the
    role commitgate_service does not exist yet. Raises BadDatabaseUrl, and SQLAlchemy's errors where the
    database refuses.
    """
    engine = _engine(owner_url)
    with engine.begin() as connection:
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def upgrade_sql() -> str:
    """All revisions from an empty database on, as SQL for psql: one transaction."""
    output = StringIO()
    command.upgrade(alembic_config(output), "head", sql=True)
    return output.getvalue()


def status(url: str) -> MigrationStatus:
    """Where the database stands. Any login that may read the version table will do."""
    with _engine(url).connect() as connection:
        return MigrationStatus(current_revision(connection), head())


def current_revision(connection: Connection) -> str | None:
    """Revision of the database behind ``connection``; None where it was never migrated."""
    context = MigrationContext.configure(connection, opts={"version_table_schema": SCHEMA})
    return context.get_current_revision()


def _engine(url: str) -> Engine:
    return create_engine(
        database_url(url), poolclass=NullPool, connect_args={"application_name": "commitgate-migrate"}
    )
