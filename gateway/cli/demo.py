"""``commitgate demo``: watch it work."""

from typing import Annotated

import typer
from rich.console import Console

from gateway.cli.output import Format, FormatOption, chosen
from gateway.demo.jsonlines import JsonLines
from gateway.demo.run import DemoOptions, run_demo
from gateway.demo.screen import Screen
from gateway.demo.show import Show
from gateway.errors import NotSupported

ANOMALIES = 3
"""Exit code when reconciliation or the shop's own log contradicts the ledger."""


def demo(
    turns: Annotated[int, typer.Option(min=1, max=10_000, help="Requests that are answered.")] = 20,
    model: Annotated[
        str | None, typer.Option(metavar="PATH_OR_NAME", help="The target; the shop's own if not given.")
    ] = None,
    draft: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH_OR_NAME", help="A drafter of the same tokenizer; may be repeated."),
    ] = None,
    branches: Annotated[int, typer.Option(min=1, help="Parallel plan branches; one is supported yet.")] = 1,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the database and the logs, and say where.")
    ] = False,
    format_: FormatOption = None,
) -> None:
    """Run an agent over a small shop: models draft and rule, calls are held and released, the ledger proves it.

    Exit 0: no anomalies, 3: anomalies, 1: it failed.
    """
    if branches != 1:
        raise NotSupported("more than one branch is not supported yet", path="branches")
    show: Show = JsonLines() if chosen(format_) is Format.JSON else Screen(Console(highlight=False))
    summary = run_demo(DemoOptions(turns, model, tuple(draft or ()), keep), show)
    raise typer.Exit(ANOMALIES if summary.anomalies else 0)
