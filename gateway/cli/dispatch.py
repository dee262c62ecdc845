"""``commitgate dispatch``: pausing and resuming what is sent, and what holds calls back."""

from typing import Annotated

import typer

from gateway.cli.output import FormatOption, say, show_rows
from gateway.cli.session import services
from gateway.service.views import View

app = typer.Typer(help="Sending: pauses, limits, early reads.", no_args_is_help=True)

ToolArgument = Annotated[str | None, typer.Argument(help="Only this tool; all if left out.")]
ReasonOption = Annotated[str, typer.Option(help="Why; kept with the pause and in the log.")]


@app.command()
def pause(tool: ToolArgument = None, reason: ReasonOption = "", format_: FormatOption = None) -> None:
    """Send no more, at once and everywhere: once this returns, no dispatcher begins another call."""
    with services() as (wired, caller):
        view = wired.braking.pause(caller, tool, reason=reason)
    _show(view, format_)
    if not view["in_force"]:
        say("a transaction that began before the pause is open still: what it lets go may be sent")


@app.command()
def resume(tool: ToolArgument = None, reason: ReasonOption = "", format_: FormatOption = None) -> None:
    """Send again what a pause of the same words held back."""
    with services() as (wired, caller):
        view = wired.braking.resume(caller, tool, reason=reason)
    if not view["was_paused"]:
        what = "sending as a whole" if tool is None else tool
        say(f"{what} was not paused by name: nothing changed")
    _show(view, format_)


@app.command()
def status(format_: FormatOption = None) -> None:
    """Show what is paused, what is used of limits, and which tools send no read early."""
    with services() as (wired, caller):
        view = wired.braking.status(caller)
    _show(view, format_)


def _show(view: View, format_: FormatOption) -> None:
    rows: list[View] = []
    for kind in ("paused", "limits", "speculation_stopped"):
        found = view[kind]
        rows += [{"what": kind, **row} for row in found] if isinstance(found, list) else []
    columns = ["what", "tool", "since", "by", "reason", "rate", "concurrency", "running", "wasted", "of"]
    show_rows(rows, columns, format_)
