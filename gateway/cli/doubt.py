"""``commitgate doubt``: calls that may or may not have happened, and the word that settles them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output import FormatOption, show_rows
from gateway.cli.session import services

COLUMNS = ["commit_key", "intent_id", "tool", "arguments", "state", "reason", "attempts"]
app = typer.Typer(help="Doubts.", no_args_is_help=True)


class Verdict(StrEnum):
    """What a person found out."""

    HAPPENED = "happened"
    NOT_HAPPENED = "not-happened"


@app.command("list")
def list_(format_: FormatOption = None) -> None:
    """List every call in doubt."""
    with services() as (wired, caller):
        show_rows(wired.doubts.list(caller), COLUMNS, format_)


@app.command()
def resolve(
    commit_key: Annotated[str, typer.Argument(metavar="KEY")],
    intent_id: Annotated[str, typer.Argument(metavar="INTENT")],
    verdict: Annotated[Verdict, typer.Option("--as", help="What was found out.")],
    reason: Annotated[str, typer.Option(help="Why that is known.")],
    evidence: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A file to keep with it.")
    ] = None,
    format_: FormatOption = None,
) -> None:
    """Settle a doubt. The call is never sent again."""
    kept = None if evidence is None else {"name": evidence.name, "text": evidence.read_text(errors="replace")}
    with services() as (wired, caller):
        view = wired.doubts.resolve(
            caller,
            commit_key,
            intent_id,
            happened=verdict is Verdict.HAPPENED,
            reason=reason,
            evidence=kept,
        )
    show_rows([view], [*COLUMNS, "result"], format_)
