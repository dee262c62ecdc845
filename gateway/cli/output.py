"""What commands print: tables for people on a terminal, JSON lines when piped or asked."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from gateway.cli.tables import print_members, print_rows

Row = Mapping[str, object]


class Format(StrEnum):
    """How output is written."""

    JSON = "json"
    TABLE = "table"


FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="json lines or a table; the default is a table on a terminal, else json."),
]


def chosen(asked: Format | None) -> Format:
    """The format asked for, or the one that fits where the output goes."""
    if asked is not None:
        return asked
    return Format.TABLE if sys.stdout.isatty() else Format.JSON


def write_line(row: Row) -> None:
    """One JSON object on one line."""
    sys.stdout.write(json.dumps(row, default=str) + "\n")
    sys.stdout.flush()


def show_rows(rows: Iterable[Row], columns: Sequence[str], asked: Format | None, *, title: str = "") -> None:
    """Rows as a table of ``columns``, or every member of each as a JSON line."""
    if chosen(asked) is Format.JSON:
        for row in rows:
            write_line(row)
        return
    print_rows(list(rows), columns, title=title)


def show_row(row: Row, asked: Format | None) -> None:
    """One row with every member: a member a line, or one JSON line."""
    if chosen(asked) is Format.JSON:
        write_line(row)
    else:
        print_members(row)


def say(text: str) -> None:
    """A word for people, kept out of the output."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)
