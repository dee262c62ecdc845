"""``commitgate keys``: API keys for programs that call the gateway."""

import getpass
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer
from pydantic_core import ValidationError
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from effects.durations import parse_duration
from effects.wording import fault_said
from gateway.apikey import ApiKey
from gateway.cli.output import Format, FormatOption, chosen, say, show_rows, write_line
from gateway.database import owner_url
from gateway.errors import InvalidRequest, UnknownKey
from gateway.principal import Role
from gateway.settings import Settings
from gateway.wiring import utc_now
from ledger.access import keys as access
from ledger.access.keys import KeyRow
from ledger.migrate import upgrade
from ledger.url import database_url

app = typer.Typer(
    help="API keys (login: COMMITGATE_MIGRATION_DATABASE_URL, the owner's)."
    " The first key that is ever made closes a gateway that runs open.",
    no_args_is_help=True,
)

_COLUMNS = ["id", "tenant", "roles", "label", "state", "created_at", "expires_at", "last_used_at"]


@app.command()
def create(
    role: Annotated[list[Role], typer.Option(help="What it may do; name several for several kinds of work.")],
    tenant: Annotated[
        str | None, typer.Option(help="The one tenant in which it acts; COMMITGATE_TENANT if not given.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="30d", help="How long it is good; for ever if not given.")
    ] = None,
    if_none: Annotated[
        bool, typer.Option("--if-none", help="Only where no key was ever made; else nothing is done, exit 0.")
    ] = False,
    format_: FormatOption = None,
) -> None:
    """Make a key. It is shown now and never again: only a digest of it is kept."""
    lasts = None if expires is None else _duration(expires)
    named = Settings().tenant if tenant is None else _tenant(tenant)
    key = ApiKey.fresh(secrets.token_bytes)
    with _owner() as engine:
        if if_none and access.any_key(engine):
            say("a key was made before: nothing was done")
            return
        row = access.add_key(
            engine,
            key.id,
            key.digest,
            tenant=named,
            roles={one.value for one in role},
            label=label,
            by=_person(),
            lasts=lasts,
        )
    if chosen(format_) is Format.JSON:
        write_line({"key": key.text, **_view(row)})
        return
    sys.stdout.write(key.text + "\n")
    sys.stdout.flush()
    say(f"key {row.id}: {', '.join(row.roles)} in tenant {row.tenant}; keep it now, it is not shown again")


@app.command("list")
def list_(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's.")] = None,
    format_: FormatOption = None,
) -> None:
    """List the keys, oldest first: the revoked and the expired ones too."""
    with _owner() as engine:
        rows = [_view(row) for row in access.list_keys(engine, tenant)]
    show_rows(rows, _COLUMNS, format_)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as list shows it.")],
) -> None:
    """Take a key out of use for good. Every gateway refuses it within about a second."""
    with _owner() as engine:
        if access.revoke_key(engine, key_id) is None:
            raise UnknownKey(key_id)
    say(f"key {key_id} is revoked")


def _view(row: KeyRow) -> dict[str, object]:
    told: dict[str, object] = asdict(row)
    del told["digest"]
    state = "revoked" if row.revoked_at is not None else "good" if row.good_at(utc_now()) else "expired"
    return {**told, "roles": list(row.roles), "state": state}


def _tenant(text: str) -> str:
    """A tenant's name, held to the rule of the setting."""
    try:
        return Settings(tenant=text).tenant
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            if fault["loc"] == ("tenant",):
                raise InvalidRequest(f"--tenant: {fault_said(fault)}") from None
        raise


def _duration(text: str) -> timedelta:
    try:
        return timedelta(seconds=parse_duration(text))
    except ValueError as error:
        raise InvalidRequest(f"--expires: {error}") from None


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


@contextmanager
def _owner() -> Iterator[Engine]:
    settings = Settings()
    with owner_url(settings) as url:
        if settings.migration_database_url is None and settings.database_url is None:
            # The embedded database is ours: the first key may come before the first start.
            upgrade(url)
        engine = create_engine(
            database_url(url), poolclass=NullPool, connect_args={"application_name": "commitgate-cli"}
        )
        access.check_keys_table(engine)
        yield engine
