"""``commitgate db auditors``: which tenant's rows an auditor's login is shown."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from gateway.cli.output import FormatOption, say, show_rows
from gateway.database import owner_url
from gateway.settings import Settings
from ledger.access import auditors as access
from ledger.access.duty import Duty
from ledger.url import database_url

app = typer.Typer(
    help="Auditors: logins that read schema audit, of one tenant each"
    " (login: COMMITGATE_MIGRATION_DATABASE_URL, the owner's).",
    no_args_is_help=True,
)

Login = Annotated[str, typer.Argument(metavar="LOGIN", help="Role of the database that logs in.")]
Tenant = Annotated[str, typer.Option(help="The one tenant that it is shown.")]


@app.command("list")
def list_(format_: FormatOption = None) -> None:
    """List the auditors and their tenants; member: the login is in commitgate_auditor, so it can look."""
    with _owner() as engine:
        rows = [asdict(auditor) for auditor in access.list_auditors(engine)]
    show_rows(rows, ["login", "tenant", "member"], format_)


@app.command()
def add(login: Login, tenant: Tenant) -> None:
    """Show a tenant to a login that exists, and from now on no other; it becomes a member of commitgate_auditor."""
    if not tenant:
        raise typer.BadParameter("a tenant has a name", param_hint="--tenant")
    with _owner() as engine:
        added = access.add_auditor(engine, login, tenant)
    say(f"{added.login} is shown tenant {added.tenant}")
    if not added.member:
        say(f"it cannot look yet; have an administrator run: GRANT {Duty.AUDITOR.role} TO {login}")


@app.command()
def remove(login: Login) -> None:
    """Show nothing to a login any more."""
    with _owner() as engine:
        access.remove_auditor(engine, login)
    say(f"{login} is shown nothing")


@contextmanager
def _owner() -> Iterator[Engine]:
    with owner_url(Settings()) as url:
        yield create_engine(
            database_url(url), poolclass=NullPool, connect_args={"application_name": "commitgate-cli"}
        )
