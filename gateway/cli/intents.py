"""``commitgate intents``: tool calls and how far they have come."""

from typing import Annotated

import typer

from effects.intent import IntentState
from gateway.cli.output import FormatOption, show_rows, write_line
from gateway.cli.session import services
from ledger.listing import list_intents

COLUMNS = [
    "commit_key",
    "intent_id",
    "tool",
    "effect",
    "block",
    "state",
    "release",
    "final",
    "attempts",
    "reason",
]
app = typer.Typer(help="Intents: one for each tool call.", no_args_is_help=True)


@app.command("list")
def list_(
    state: Annotated[IntentState | None, typer.Option(help="Only those in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 50,
    format_: FormatOption = None,
) -> None:
    """List intents, the newest commit keys first."""
    with services() as (wired, caller):
        rows = list_intents(wired.engine, caller.tenant, state=state, limit=limit)
    show_rows(rows, COLUMNS, format_)


@app.command()
def show(
    commit_key: Annotated[str, typer.Argument(metavar="KEY")],
    intent_id: Annotated[str, typer.Argument(metavar="INTENT")],
) -> None:
    """Show one intent, with its answer even where that is provisional."""
    with services() as (wired, caller):
        view, _ = wired.intents.get(caller, commit_key, intent_id, provisional=True)
    write_line(view)
