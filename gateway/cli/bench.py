"""``commitgate bench``: figures of this machine, each beside a floor or a peer in the same run."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output import Format, FormatOption, chosen, say, show_rows, write_line

app = typer.Typer(help="Measure on this machine.", no_args_is_help=True)

JsonOption = Annotated[
    Path | None, typer.Option("--json", dir_okay=False, help="Write the whole result here.")
]


@app.callback()
def bench() -> None:
    """Measure on this machine, on a Postgres of the bench's own."""


@app.command()
def ingest(
    seconds: Annotated[
        float, typer.Option(min=0.2, help="Measured seconds of one repetition of one arm.")
    ] = 3.0,
    repetitions: Annotated[int, typer.Option(min=1, help="How often each arm is measured; medians.")] = 5,
    only: Annotated[str, typer.Option(help="Only arms whose name holds this text.")] = "",
    peer: Annotated[bool, typer.Option(help="Measure eventsourcing beside.")] = True,
    json_: JsonOption = None,
    format_: FormatOption = None,
) -> None:
    """How fast events go in, beside a COPY of the same rows on one connection. Needs a quiet machine."""
    # Loaded here: producers are spawned and must not load it twice, and other commands not at all.
    from bench.ingest import report
    from bench.ingest.arms import ARMS
    from bench.server import bench_server

    arms = [arm for arm in ARMS if only in arm.name]
    if not arms:
        raise typer.BadParameter(f"no arm is named like {only!r}", param_hint="--only")
    with bench_server() as server:
        result = report.measured(
            server, arms, seconds=seconds, repetitions=repetitions, with_peer=peer, say=say
        )
    if json_ is not None:
        json_.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if chosen(format_) is Format.JSON:
        write_line(result)
        return
    show_rows(result["figures"], list(report.COLUMNS), format_)
    say(f"{result['missed']} of {result['aims']} figures missed")
    sys.stdout.flush()


@app.command()
def growth(
    events: Annotated[
        int, typer.Option(min=1000, help="Events that the ledger is to hold in the end.")
    ] = 5_000_000,
    plot: Annotated[Path | None, typer.Option(dir_okay=False, help="Write the line as SVG here.")] = None,
    json_: JsonOption = None,
) -> None:
    """Whether appending stays as fast as the ledger grows."""
    from bench.ingest import growth as growing
    from bench.plot import write_line_chart
    from bench.server import bench_server

    with bench_server() as server:
        result = growing.measured(server, events=events, piece_seconds=5.0, say=say)
    if json_ is not None:
        json_.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if plot is not None:
        title = f"microseconds per event, {result['events']:,} events"
        write_line_chart(plot, result["points"], title=title, x="events in the ledger", y="us an event")
    write_line({name: value for name, value in result.items() if name != "points"})


@app.command()
def dispatch(
    seconds: Annotated[float, typer.Option(min=1.0, help="Measured seconds of one arm.")] = 8.0,
    rate: Annotated[float, typer.Option(min=1.0, help="Calls a second that are offered.")] = 1000.0,
    peer: Annotated[bool, typer.Option(help="Measure dbos and pgqueuer beside.")] = True,
    json_: JsonOption = None,
    format_: FormatOption = None,
) -> None:
    """How soon and how many released calls are sent, beside other engines. Needs a quiet machine."""
    from bench.dispatch import run as dispatching
    from bench.machine import circumstances
    from bench.server import bench_server

    about = circumstances()
    with bench_server() as server:
        result = dispatching.measured(server, seconds=seconds, rate=rate, with_peers=peer, say=say)
    figures = dispatching.figures(result)
    if json_ is not None:
        told = {**about, "figures": figures}
        json_.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    show_rows(figures, ["figure", "value", "aim", "reached"], format_)


@app.command()
def turns(
    messages: Annotated[int, typer.Option(min=1, help="Messages of each arm at each ratio.")] = 40,
    at_once: Annotated[int, typer.Option(min=1, help="Turns that are under way together.")] = 2,
    latency: Annotated[float, typer.Option(min=1.0, help="Median milliseconds that a tool takes.")] = 200.0,
    rejected: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the calls that are drafted wrongly.")
    ] = 0.3,
    seed: Annotated[int, typer.Option(help="Of messages, drafts and latencies.")] = 1,
    json_: JsonOption = None,
    format_: FormatOption = None,
) -> None:
    """How long turns take where reads go early, beside holding everything and waiting for the whole message."""
    from bench.server import bench_server
    from bench.turns import report
    from bench.turns.run import Plan
    from gateway.logs import configure_logs
    from gateway.switching import switch_soon

    configure_logs("warning")
    switch_soon()
    plan = Plan(messages, at_once, latency / 1e3, rejected, seed=seed)
    with bench_server() as server:
        result = report.report(server, plan, say=say)
    if json_ is not None:
        json_.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if chosen(format_) is Format.JSON:
        write_line(result)
        return
    show_rows(result["rows"], list(report.COLUMNS), format_)
    show_rows(result["figures"], list(report.FIGURES), format_)
