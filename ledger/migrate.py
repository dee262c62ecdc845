"""Brings a database to the newest schema, says where it stands, or writes the SQL to do it.

Alembic is loaded where it is used: most processes know this module and migrate nothing.
"""

from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg.errors import UniqueViolation
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

import migrations
from ledger.errors import SchemaOutdated
from ledger.faults import driver_error
from ledger.schema import SCHEMA
from ledger.url import database_url
from migrations.objects import source

if TYPE_CHECKING:
    from alembic.config import Config

_TRIES = 10
"""How often an upgrade begins again because another one created the same thing first."""

# As Alembic makes it, which finds it then; made here because Alembic looks first and creates later.
_CREATE_VERSIONS = """
create table if not exists ledger.alembic_version
    (version_num varchar(32) not null, constraint alembic_version_pkc primary key (version_num))
"""
_LOCK_VERSION = "select version_num from ledger.alembic_version for update"


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """Revision of a database (None: never migrated) and the newest one."""

    current: str | None
    head: str

    @property
    def up_to_date(self) -> bool:
        """Whether nothing is left to apply."""
        return self.current == self.head


def alembic_config(output: StringIO | None = None) -> "Config":
    """Alembic's configuration, made in code: there is no alembic.ini. ``output`` takes offline SQL."""
    from alembic.config import Config

    config = Config(output_buffer=output)
    folder = Path(migrations.__file__).parent
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def head() -> str:
    """The newest revision."""
    from alembic.script import ScriptDirectory

    revision = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if revision is None:
        raise RuntimeError("no revisions are installed")
    return revision


def upgrade(owner_url: str) -> None:
    """Apply what is missing, in one transaction: all of it or nothing. Upgrades at the same time take turns.

    ``owner_url``: a member of commitgate_migrator, or the login that upgrades for the first time. It needs CREATE on
    the database where a schema is to be made, and CREATEROLE where the group roles are; never a superuser
    (migrations/versions/0003_roles.py). Raises BadDatabaseUrl, and SQLAlchemy's errors where the database refuses.
    """
    from alembic import command

    engine = _engine(owner_url)
    for tries in range(1, _TRIES + 1):
        try:
            with engine.begin() as connection:
                _take_turn(connection)
                config = alembic_config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
                return
        except DBAPIError as error:
            if tries == _TRIES or not _created_elsewhere(error):
                raise


def upgrade_sql() -> str:
    """All revisions from an empty database on, as SQL for psql: one transaction."""
    from alembic import command

    output = StringIO()
    command.upgrade(alembic_config(output), "head", sql=True)
    return output.getvalue()


def status(url: str) -> MigrationStatus:
    """Where the database stands. Any login that may read the version table will do."""
    with _engine(url).connect() as connection:
        return MigrationStatus(current_revision(connection), head())


def current_revision(connection: Connection) -> str | None:
    """Revision of the database behind ``connection``; None where it was never migrated."""
    from alembic.runtime.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"version_table_schema": SCHEMA})
    return context.get_current_revision()


def check_newest(connection: Connection) -> None:
    """Raise SchemaOutdated unless the newest revision is applied to the database behind ``connection``."""
    current = current_revision(connection)
    if current != head():
        raise SchemaOutdated(current, head())


def _take_turn(connection: Connection) -> None:
    """Wait until no other upgrade runs, by what every engine has: unique names and row locks.

    A database that was never migrated has no row to lock. There the first upgrade creates the schema and the version
    table, and a second one waits for the first behind the catalogue's unique indexes, then fails and begins again.
    """
    connection.execute(text(source("schemas", SCHEMA)))
    connection.execute(text(_CREATE_VERSIONS))
    connection.execute(text(_LOCK_VERSION))


def _created_elsewhere(error: DBAPIError) -> bool:
    """Whether a statement failed because another transaction created the same object of the schema meanwhile."""
    fault = driver_error(error)
    return isinstance(fault, UniqueViolation) and fault.diag.schema_name == "pg_catalog"


def _engine(url: str) -> Engine:
    return create_engine(
        database_url(url), poolclass=NullPool, connect_args={"application_name": "commitgate-migrate"}
    )
