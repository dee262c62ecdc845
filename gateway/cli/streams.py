"""``commitgate streams``: what is known of model messages, and the story of one."""

from typing import Annotated

import typer
from rich.console import Console

from gateway.cli.output import Format, FormatOption, chosen, show_rows, write_line
from gateway.cli.session import services
from ledger.listing import list_streams
from ledger.timeline import timeline

app = typer.Typer(help="Streams: one for each model message.", no_args_is_help=True)


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many, newest first.")] = 50,
    format_: FormatOption = None,
) -> None:
    """List streams, the newest first."""
    with services() as (wired, caller):
        rows = list_streams(wired.engine, caller.tenant, limit=limit)
    show_rows(rows, ["commit_key", "seq", "writer_epoch", "finished", "opened_at"], format_)


@app.command()
def show(commit_key: Annotated[str, typer.Argument(metavar="KEY")], format_: FormatOption = None) -> None:
    """Tell the story of one message: tokens, blocks, intents and dispatches in the order of the ledger."""
    with services() as (wired, caller):
        wired.streams.state(caller, commit_key)
        events = wired.ledger.events(caller.tenant, commit_key, after=0, limit=1_000_000)
    lines = timeline(events)
    if chosen(format_) is Format.JSON:
        for line in lines:
            write_line(line.to_json())
        return
    console = Console(highlight=False)
    for line in lines:
        console.print(
            f"{line.seq:>5}  {line.at:%H:%M:%S.%f}  {line.kind:<8}  {line.text}", markup=False, soft_wrap=True
        )
