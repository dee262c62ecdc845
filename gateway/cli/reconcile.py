"""``commitgate reconcile``: hold what was sent against what was accepted, and against the tools' own log."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from effects.wording import counted
from gateway.cli.output import Format, FormatOption, chosen, say, show_rows, write_line
from gateway.cli.session import services
from gateway.errors import InvalidRequest
from gateway.service.scanning import find_blocks
from gateway.wiring import utc_now
from ledger.access.duty import Duty
from ledger.reconcile.finding import Finding
from ledger.reconcile.run import Options, Progress, Reconciliation, run
from ledger.reconcile.toollog import ToolLog

FINDINGS = 3
"""Exit code when something was found."""

COLUMNS = ["severity", "kind", "tool", "commit_key", "intent_id", "seq", "detail"]
MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]
KINDS = (".jsonl", ".csv")
app = typer.Typer(help="Reconciliation.", no_args_is_help=True)

Moment = Annotated[datetime | None, typer.Option(formats=MOMENTS, help="UTC where no offset is given.")]
Sink = Callable[[Finding], None]


@app.callback()
def reconcile() -> None:
    """Reconcile the ledger."""


@app.command("run")
def run_(
    since: Moment = None,
    until: Moment = None,
    commit_key: Annotated[str | None, typer.Option(help="Only this stream.")] = None,
    tool_log: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="What the tools logged, .jsonl or .csv.")
    ] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="The tool log holds every request ever received.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write findings here, .jsonl or .csv.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Accepted for scripts: reconciling never changes anything.")
    ] = False,
    format_: FormatOption = None,
) -> None:
    """Compare the union of dispatches and accepted calls. Exit 0: nothing found, 3: findings."""
    if out is not None and out.suffix not in KINDS:
        raise InvalidRequest(f"findings are written as {' or '.join(KINDS)}, not {out.suffix or out.name}")
    options = Options(since=_aware(since), until=_aware(until), commit_key=commit_key)
    with ExitStack() as stack:
        wired, caller = stack.enter_context(services(needs=(Duty.RECONCILER,)))
        if commit_key is not None:
            wired.streams.state(caller, commit_key)
        log = None if tool_log is None else stack.enter_context(ToolLog(tool_log, complete=complete))
        show = stack.enter_context(_shower())
        sink = stack.enter_context(_findings_to(out, format_))
        found = run(
            wired.engine,
            caller.tenant,
            options,
            now=utc_now(),
            find_blocks=find_blocks,
            tool_log=log,
            progress=show,
        )
        for finding in found.findings:
            sink(finding)
    _summarise(found, format_)
    raise typer.Exit(FINDINGS if found.summary.findings else 0)


def _aware(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@contextmanager
def _shower() -> Iterator[Callable[[Progress], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    with Status("reconciling", console=Console(stderr=True)) as status:
        yield lambda progress: status.update(f"reconciling: {counted(progress.summary.streams, 'stream')}")


@contextmanager
def _findings_to(out: Path | None, asked: Format | None) -> Iterator[Sink]:
    if out is None:
        if chosen(asked) is Format.JSON:
            yield lambda finding: write_line(finding.to_json())
            return
        rows: list[Finding] = []
        yield rows.append
        if rows:
            show_rows((finding.to_json() for finding in rows), COLUMNS, Format.TABLE)
        return
    with out.open("w", encoding="utf-8", newline="") as file:
        if out.suffix == ".csv":
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
            writer.writeheader()
            yield lambda finding: writer.writerow(finding.to_json())
        else:
            yield lambda finding: _ignore(file.write(json.dumps(finding.to_json()) + "\n"))


def _ignore(_written: int) -> None:
    return None


def _summarise(found: Reconciliation, asked: Format | None) -> None:
    summary = found.summary.to_json()
    if chosen(asked) is Format.JSON:
        write_line({"summary": summary})
        return
    for name, value in summary.items():
        say(f"{name:>16}  {value if not isinstance(value, dict) else json.dumps(value)}")
    total = sum(found.summary.findings.values())
    say("nothing found" if not total else counted(total, "finding"))
