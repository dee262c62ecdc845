"""``commitgate ledger``: reading what was recorded."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from gateway.cli.output import FormatOption, say, show_rows, write_line
from gateway.cli.session import services
from ledger import rebuild as rebuilding
from ledger.access.duty import Duty

DIFFERENCES = 3
"""Exit code when a projection is not what its events amount to."""

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


@app.command()
def rebuild(
    check: Annotated[
        bool, typer.Option("--check", help="Compare only; exit 3 where something differs.")
    ] = False,
    format_: FormatOption = None,
) -> None:
    """Write the projections anew from events, or compare them with what events amount to."""
    duty = Duty.RECONCILER if check else Duty.WRITER
    with services(needs=(duty,)) as (wired, _), _progress() as progress:
        if not check:
            say(f"rebuilt {rebuilding.rebuild(wired.engine, progress)} streams")
            return
        found = [asdict(difference) for difference in rebuilding.check(wired.engine, progress)]
    show_rows(found, ["tenant", "commit_key", "table", "detail"], format_)
    say(f"{len(found)} differences")
    if found:
        raise typer.Exit(DIFFERENCES)


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    if not sys.stderr.isatty():
        yield lambda _streams: None
        return
    with Status("rebuilding", console=Console(stderr=True)) as status:
        yield lambda streams: status.update(f"{streams} streams")
