"""Alembic's entry: runs the revisions on a connection, or writes them as SQL (see ``ledger.migrate``)."""

from alembic import context
from sqlalchemy import Connection, Engine

from ledger.schema import SCHEMA
from ledger.tables import metadata
from migrations.objects import source


def _run(connection: Connection | None) -> None:
    context.configure(
        connection=connection,
        dialect_name="postgresql" if connection is None else None,
        literal_binds=connection is None,
        target_metadata=metadata,
        version_table_schema=SCHEMA,
        include_schemas=True,
        include_name=lambda name, kind, _parents: kind != "schema" or name == SCHEMA,
    )
    with context.begin_transaction():
        # Alembic puts its own table into the schema before the first revision runs.
        context.execute(source("schemas", "ledger"))
        context.run_migrations()
        # Whatever a revision made belongs to the migrators' group, whoever of it ran the revision.
        context.execute(source("owners", "all"))


def _run_online(given: Connection | Engine) -> None:
    if isinstance(given, Engine):
        with given.connect() as connection:
            _run(connection)
            connection.commit()
    else:
        _run(given)


if context.is_offline_mode():
    _run(None)
else:
    _run_online(context.config.attributes["connection"])
