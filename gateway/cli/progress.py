"""How far a long command is, on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while the block runs; it is told how much of ``total`` is done. Nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total)
        yield lambda done: shown.update(task, completed=done)
