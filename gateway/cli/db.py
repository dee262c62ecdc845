"""``commitgate db``: bringing the database to the newest schema."""

from typing import Annotated

import typer

from gateway.cli import auditors
from gateway.cli.output import FormatOption, say, show_rows
from gateway.database import owner_url
from gateway.settings import Settings
from ledger.migrate import status as migration_status
from ledger.migrate import upgrade as upgrade_database
from ledger.migrate import upgrade_sql

app = typer.Typer(help="The database's schema.", no_args_is_help=True)
app.add_typer(auditors.app, name="auditors")


@app.command()
def upgrade(
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL instead of running it.")] = False,
) -> None:
    """Apply the migrations that are missing, all or none (login: COMMITGATE_MIGRATION_DATABASE_URL, the owner's)."""
    if sql:
        typer.echo(upgrade_sql())
        return
    with owner_url(Settings()) as url:
        upgrade_database(url)
        found = migration_status(url)
    say(f"the schema is at {found.current}")


@app.command()
def status(format_: FormatOption = None) -> None:
    """Say which revision the database has, and which is the newest. Exit 1 if it is behind."""
    with owner_url(Settings()) as url:
        found = migration_status(url)
    row = {"current": found.current, "head": found.head, "up_to_date": found.up_to_date}
    show_rows([row], ["current", "head", "up_to_date"], format_)
    if not found.up_to_date:
        raise typer.Exit(1)
