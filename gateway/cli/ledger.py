"""``commitgate ledger``: reading what was recorded."""

from typing import Annotated

import typer

from gateway.cli.output import write_line
from gateway.cli.session import services

app = typer.Typer(help="The ledger.", no_args_is_help=True)


@app.command()
def events(
    commit_key: Annotated[str, typer.Argument(metavar="KEY")],
    after: Annotated[int, typer.Option(min=0, help="Only events with a greater seq.")] = 0,
) -> None:
    """Print every event of one stream, as JSON lines in order of seq."""
    with services() as (wired, caller):
        state = wired.streams.state(caller, commit_key)
        while after < state.seq:
            page = wired.ledger.events(caller.tenant, commit_key, after=after, limit=1000)
            for event in page:
                envelope = {
                    "seq": event.seq,
                    "type": event.type.value,
                    "branch": event.branch,
                    "at": event.at,
                }
                write_line({**event.payload, **envelope})
            after = page[-1].seq if page else state.seq
