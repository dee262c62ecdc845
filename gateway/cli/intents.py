"""``commitgate intents``: tool calls and how far they have come."""

from typing import Annotated

import typer

from effects.intent import IntentState
from gateway.cli.output import FormatOption, Row, show_row, show_rows
from gateway.cli.session import services
from gateway.turn.brakes import Brakes
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
        brakes = wired.tables.current(caller.tenant).brakes
    show_rows([_told(row, brakes) for row in rows], COLUMNS, format_)


@app.command()
def show(
    commit_key: Annotated[str, typer.Argument(metavar="KEY")],
    intent_id: Annotated[str, typer.Argument(metavar="INTENT")],
    format_: FormatOption = None,
) -> None:
    """Show one intent, with its answer even where that is provisional."""
    with services() as (wired, caller):
        view, _ = wired.intents.get(caller, commit_key, intent_id, provisional=True)
    show_row(view, format_)


def _told(row: Row, brakes: Brakes) -> Row:
    """A pause is no event of the stream, so no row holds it."""
    tool = row["tool"]
    paused = row["state"] == IntentState.RELEASED and brakes.pauses(None if tool is None else str(tool))
    return {**row, "reason": "paused"} if paused else row
