"""``commitgate ledger``: reading what was recorded."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

import typer

from effects.wording import counted
from gateway.cli import evidence, log, redact
from gateway.cli.output import Format, FormatOption, chosen, say, show_rows, write_line
from gateway.cli.rebuilding import watched
from gateway.cli.session import services
from ledger import rebuild as rebuilding
from ledger.access.duty import Duty

DIFFERENCES = 3
"""Exit code when a projection is not what its events amount to."""

SHOWN = 1000
"""Differences in a table, at most."""

app = typer.Typer(help="The ledger.", no_args_is_help=True)
for command in (log.tail, log.checkpoint, log.key, evidence.export, evidence.verify, evidence.proof):
    app.command()(command)
app.command()(redact.redact)


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
                gone = {"redacted": True} if event.redacted else {}
                bad = {"unreadable": True} if event.unreadable else {}
                write_line({**event.payload, **envelope, **gone, **bad})
            after = page[-1].seq if page else state.seq


@app.command()
def rebuild(
    check: Annotated[
        bool, typer.Option("--check", help="Compare only; exit 3 where something differs.")
    ] = False,
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Go on where a run was stopped; it said where.")
    ] = None,
    format_: FormatOption = None,
) -> None:
    """Write the projections anew from events, or compare them with what events amount to.

    A stream whose events cannot be read is named (stream_unreadable) and keeps its rows; the others are gone through.
    Exit 0: all is well, 3: something differs, or a stream cannot be read, 2: bad usage, 1: it failed.
    """
    duty = Duty.RECONCILER if check else Duty.WRITER
    what = "comparing" if check else "rebuilding"
    with (
        services(needs=(duty,)) as (wired, _),
        watched(rebuilding.size(wired.engine, after=after), what) as tell,
    ):
        if check:
            found = _differences(rebuilding.check(wired.engine, tell, after=after), format_)
        else:
            unread: list[rebuilding.Difference] = []
            count = rebuilding.rebuild(wired.engine, tell, after=after, passed_over=unread.append)
            found = _differences(unread, format_)
    said = counted(found, "difference") if check else f"rebuilt {counted(count, 'stream')}"
    say(said if check or not found else f"{said}, passed over {counted(found, 'stream')}")
    if found:
        raise typer.Exit(DIFFERENCES)


def _differences(differences: Iterable[rebuilding.Difference], asked: Format | None) -> int:
    """Show them, JSON lines as they are found, a table of the first ones at the end; how many there are."""
    count, first = 0, []
    for count, difference in enumerate(differences, 1):
        if chosen(asked) is Format.JSON:
            write_line(asdict(difference))
        elif count <= SHOWN:
            first.append(asdict(difference))
    if first:
        show_rows(first, ["tenant", "commit_key", "table", "detail"], Format.TABLE)
    return count
