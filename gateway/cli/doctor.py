"""``commitgate doctor``: whether all is as it should be."""

from typing import Annotated

import typer

from gateway.cli.output import FormatOption, show_rows
from gateway.doctor.examining import Asked, examine
from gateway.doctor.finding import Verdict
from gateway.settings import Settings


def doctor(
    host: Annotated[str, typer.Option(help="Address that the gateway is to listen on.")] = "127.0.0.1",
    connect: Annotated[
        bool, typer.Option("--connect/--no-connect", help="Try whether tools take a TCP connection.")
    ] = True,
    ask_servers: Annotated[
        bool,
        typer.Option(
            "--ask-servers",
            help="Ask the table's MCP servers how they define their tools; starts those that are commands.",
        ),
    ] = False,
    format_: FormatOption = None,
) -> None:
    """Look whether database, log, keys, effect table and tools are as they should be. Changes nothing; exit 1: it is not so.

    Verdicts: pass; info: nothing to do; warn: it works, and somebody should look; fail: it does not work, or not safely.
    """
    findings = list(examine(Asked(Settings(), host, connect, ask_servers)))
    rows = [
        {"check": one.check, "verdict": one.verdict.value, "told": one.told, "hint": one.hint}
        for one in findings
    ]
    show_rows(rows, ["check", "verdict", "told", "hint"], format_)
    if any(one.verdict is Verdict.FAIL for one in findings):
        raise typer.Exit(1)
