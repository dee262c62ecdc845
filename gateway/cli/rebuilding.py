"""How far a rebuild has come: a bar with a total on a terminal, JSON lines on standard error where it is piped."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from effects.wording import counted
from gateway.cli.output import say
from ledger import rebuild

EVERY = 1.0
"""Seconds between two lines about how far it has come."""


@contextmanager
def watched(total: rebuild.Progress, what: str) -> Iterator[Callable[[rebuild.Progress], None]]:
    """A way to be told; where it is broken off (Ctrl-C), it says how to go on.

    ``total``: what there was to do before it began; events that come meanwhile go beyond it.
    """
    last = rebuild.Progress(0, 0, total.cursor)

    def keep(progress: rebuild.Progress) -> None:
        nonlocal last
        last = progress
        show(progress)

    with _bar(total, what) if sys.stderr.isatty() else _lines(total) as show:
        try:
            yield keep
        except KeyboardInterrupt:
            if last.cursor is not None:
                say(
                    f"stopped behind {counted(last.streams, 'stream')}; --after {last.cursor} goes on from there"
                )
            raise


@contextmanager
def _bar(total: rebuild.Progress, what: str) -> Iterator[Callable[[rebuild.Progress], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("events"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total.events)

        def show(progress: rebuild.Progress) -> None:
            bar.update(
                task,
                completed=progress.events,
                total=max(total.events, progress.events),
                description=f"{what}: {progress.streams}/{max(total.streams, progress.streams)} streams",
            )

        yield show


@contextmanager
def _lines(total: rebuild.Progress) -> Iterator[Callable[[rebuild.Progress], None]]:
    told = time.monotonic()
    last: rebuild.Progress | None = None

    def line(progress: rebuild.Progress) -> None:
        of = {"streams": total.streams, "events": total.events}
        body = {"streams": progress.streams, "events": progress.events, "of": of, "cursor": progress.cursor}
        sys.stderr.write(json.dumps({"progress": body}) + "\n")
        sys.stderr.flush()

    def show(progress: rebuild.Progress) -> None:
        nonlocal told, last
        last = progress
        if time.monotonic() - told >= EVERY:
            told, last = time.monotonic(), None
            line(progress)

    yield show
    if last is not None:
        line(last)
