"""``commitgate effects``: the effect table, its versions, and what it says of a call."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from effects.classes import EffectClass
from effects.strict_json import JSONRefused, parse
from effects.table import EffectTable
from effects.wording import counted
from gateway.cli.output import FormatOption, say, show_rows
from gateway.cli.session import services
from gateway.errors import InvalidRequest, NoEffectTable, Unavailable, UnknownTool
from gateway.settings import Settings
from gateway.wiring import utc_now
from ledger.events import Event

app = typer.Typer(help="Effect classes of tools.", no_args_is_help=True)


@app.command("list")
def list_(format_: FormatOption = None) -> None:
    """List the tools of the table in force."""
    with services() as (wired, caller):
        force = wired.tables.current(caller.tenant)
    rows = [
        {"tool": name, **tool.model_dump(mode="json", exclude_none=True, by_alias=True)}
        for name, tool in force.table.tools.items()
    ]
    show_rows(
        rows, ["tool", "effect", "reads", "writes", "upstream"], format_, title=f"version {force.version}"
    )


@app.command()
def explain(
    tool: Annotated[str, typer.Argument(help="Name of the tool.")],
    arguments: Annotated[str, typer.Argument(help="Its arguments, a JSON object.")] = "{}",
    format_: FormatOption = None,
) -> None:
    """Say in which class a call would be decided, why, and what it would wait for or be refused for."""
    try:
        value = parse(arguments)
    except JSONRefused as error:
        raise InvalidRequest(f"the arguments are no JSON: {error.detail}") from error
    if not isinstance(value, dict):
        raise InvalidRequest("the arguments are no JSON object")
    with services() as (wired, caller):
        force = wired.tables.current(caller.tenant)
    judged = force.table.classify(tool, value)
    asks = None if judged.approval is None else judged.approval.asks(value, utc_now())
    row = {
        "tool": tool,
        "effect": judged.effect.value,
        "known": judged.known,
        "may_speculate": judged.may_speculate,
        "speculation_stopped": tool in force.brakes.stopped,
        "because": judged.because,
        "footprint": judged.footprint.to_json(),
        "approval": None if asks is None else asks.value,
        "fault": None if judged.fault is None else asdict(judged.fault),
        "version": force.version,
    }
    show_rows([row], list(row), format_)


@app.command()
def apply(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The table, YAML.")],
) -> None:
    """Put an effect table in force; an equal one changes nothing."""
    with services() as (wired, caller):
        force = wired.tables.apply(caller, file.read_text(encoding="utf-8"))
    say(f"version {force.version} is in force: {counted(len(force.table.tools), 'tool')}")


@app.command()
def history(
    tool: Annotated[str | None, typer.Argument(help="Only this tool.")] = None, format_: FormatOption = None
) -> None:
    """List every version that was ever in force."""
    with services() as (wired, caller):
        events = wired.tables.history(caller)
    if not events:
        raise NoEffectTable(caller.tenant)
    versions = [(event, _tools(event)) for event in events]
    if tool is not None and not any(tool in tools for _, tools in versions):
        raise UnknownTool(tool, "no effect table so far had a")
    rows = []
    for event, tools in versions:
        said = tools if tool is None else {tool: tools.get(tool)}
        rows.append(
            {"version": event.seq, "at": event.at.isoformat(), "by": event.payload["by"], "tools": said}
        )
    show_rows(rows, ["version", "at", "by"] + ([] if tool is None else ["tools"]), format_)


@app.command("import-mcp")
def import_mcp(
    target: Annotated[str, typer.Argument(help="URL of the server, or the command that starts it.")],
    alias: Annotated[str, typer.Option(help="What the table shall call the server.")] = "server",
    prefix: Annotated[str, typer.Option(help="Put before the names of its tools.")] = "",
    pin: Annotated[
        list[str] | None, typer.Option(help="TOOL=CLASS: a class that you know; any number of times.")
    ] = None,
) -> None:
    """Print what an MCP server offers, as YAML for an effect table; nothing is applied."""
    from gateway.upstream.mcp.access import Access
    from gateway.upstream.mcp.connection import Unreachable
    from gateway.upstream.mcp.importing import fragment, listing_of, server_of

    server = server_of(target)
    try:
        tools = asyncio.run(listing_of(Access.to(server)))
    except Unreachable as error:
        raise Unavailable(str(error)) from error
    text = fragment(server, alias, tools, pinned=_pinned(pin or []), prefix=prefix)
    EffectTable.parse(text)
    typer.echo(text, nl=False)


@app.command()
def quarantine(format_: FormatOption = None) -> None:
    """Ask the MCP servers of the table in force whether they still define their tools as pinned.

    Ends with 3 where a tool would not be called.
    """
    from gateway.upstream.mcp.inspecting import held, inspect

    settings = Settings()
    with services(settings) as (wired, caller):
        force = wired.tables.current(caller.tenant)
    rows = asyncio.run(inspect(force.table, caller.tenant, settings.secrets))
    columns = ["tool", "server", "name", "standing", "pinned", "found"]
    show_rows([asdict(row) for row in rows], columns, format_, title=f"version {force.version}")
    if held(rows):
        raise typer.Exit(3)


def _tools(event: Event) -> Mapping[str, object]:
    table = event.payload["table"]
    tools = table.get("tools", {}) if isinstance(table, dict) else {}
    return tools if isinstance(tools, dict) else {}


def _pinned(pins: list[str]) -> dict[str, EffectClass]:
    found = {}
    for pin in pins:
        name, _, spelled = pin.rpartition("=")
        if not name or spelled not in EffectClass.__members__:
            raise InvalidRequest(f"{pin!r} is not TOOL=READ_ONLY, TOOL=IDEMPOTENT or TOOL=WRITE")
        found[name] = EffectClass(spelled)
    return found
