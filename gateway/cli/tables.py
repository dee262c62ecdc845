"""Tables for people: what names a thing is never cut and never folded, so that it can be copied; other columns give way."""

import json
from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

IDENTIFIERS = frozenset({"commit_key", "intent_id", "tool", "id", "login", "tenant", "pinned", "found"})
"""Columns that somebody copies out of a table."""

NARROW = 10
"""Cells to which any other column may be folded."""

_FRAME = 3
"""Cells that the frame takes beside each column."""


def print_rows(rows: Sequence[Mapping[str, object]], columns: Sequence[str], *, title: str = "") -> None:
    """Rows as a table; where a terminal is too narrow for what must stay whole, each as a few lines of its own."""
    console = Console(highlight=False)
    if not rows:
        console.print("nothing to show")
        return
    texts = [[cell(row.get(column)) for column in columns] for row in rows]
    widths = _widths(columns, texts, console.width)
    if widths is not None:
        console.print(_table(columns, texts, widths, title))
        return
    if title:
        console.print(Text(title))
    for row in texts:
        _print_row(console, columns, row)


def print_members(row: Mapping[str, object]) -> None:
    """One row, a member a line. Lines longer than the terminal are for it to wrap: they are copied in one piece."""
    console, longest = Console(highlight=False), max(map(len, row), default=0)
    for name, value in row.items():
        console.print(Text(f"{name:>{longest}}  {cell(value)}"), soft_wrap=True)


def cell(value: object) -> str:
    """A value in one line; what a terminal would obey or break is escaped."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value if value.isprintable() else json.dumps(value)
    return json.dumps(value, default=str) if isinstance(value, dict | list | tuple) else str(value)


def _widths(columns: Sequence[str], texts: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Cells for each column, the widest ones folded first; None where the identifiers leave too little."""
    natural = [
        max(cell_len(text) for text in (column, *(row[at] for row in texts)))
        for at, column in enumerate(columns)
    ]
    least = [
        width if column in IDENTIFIERS else min(width, max(NARROW, cell_len(column)))
        for column, width in zip(columns, natural, strict=True)
    ]
    spare = room - _FRAME * len(columns) - 1 - sum(least)
    if spare < 0:
        return None
    widths = list(least)
    while spare:
        open_ = [at for at, width in enumerate(widths) if width < natural[at]]
        if not open_:
            break
        widths[min(open_, key=widths.__getitem__)] += 1
        spare -= 1
    return widths


def _table(
    columns: Sequence[str], texts: Sequence[Sequence[str]], widths: Sequence[int], title: str
) -> Table:
    table = Table(title=Text(title) if title else None, title_justify="left")
    for column, width in zip(columns, widths, strict=True):
        table.add_column(column, width=width, overflow="fold")
    for row in texts:
        cells: list[RenderableType] = [Text(text) for text in row]
        table.add_row(*cells)
    return table


def _print_row(console: Console, columns: Sequence[str], row: Sequence[str]) -> None:
    """Its identifiers in a line, then what else there is of it."""
    told = [(column, text) for column, text in zip(columns, row, strict=True) if text]
    first = [text for column, text in told if column in IDENTIFIERS]
    rest = [Text.assemble((column, "dim"), " ", text) for column, text in told if column not in IDENTIFIERS]
    console.print(Text("  ".join(first), "bold"), soft_wrap=True)
    if rest:
        console.print(Text("  ") + Text(", ").join(rest), soft_wrap=True)
