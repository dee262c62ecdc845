"""``commitgate approvals``: calls that wait for a person, and the person's word."""

from typing import Annotated

import typer

from gateway.cli.output import FormatOption, show_rows
from gateway.cli.session import services

COLUMNS = ["commit_key", "intent_id", "tool", "arguments", "effect", "state", "reason", "asked"]
app = typer.Typer(help="Approvals.", no_args_is_help=True)

KeyArgument = Annotated[str, typer.Argument(metavar="KEY")]
IntentArgument = Annotated[str, typer.Argument(metavar="INTENT")]
DigestOption = Annotated[
    str | None, typer.Option(help="Only if the arguments have this digest, as the list shows it.")
]
DefinitionOption = Annotated[
    str | None,
    typer.Option(help="Only if the effect table says this of the tool, as the list shows under asked."),
]


@app.command("list")
def list_(format_: FormatOption = None) -> None:
    """List every call that awaits approval."""
    with services() as (wired, caller):
        show_rows(wired.approvals.list(caller), COLUMNS, format_)


@app.command()
def approve(
    commit_key: KeyArgument,
    intent_id: IntentArgument,
    note: Annotated[str | None, typer.Option(help="Kept with the approval.")] = None,
    arguments_digest: DigestOption = None,
    definition: DefinitionOption = None,
    format_: FormatOption = None,
) -> None:
    """Let the call be sent, once, with the arguments that it has, to the tool as it was asked about."""
    with services() as (wired, caller):
        view = wired.approvals.approve(
            caller,
            commit_key,
            intent_id,
            note=note,
            arguments_digest=arguments_digest,
            definition=definition,
        )
    show_rows([view], COLUMNS, format_)


@app.command()
def deny(
    commit_key: KeyArgument,
    intent_id: IntentArgument,
    reason: Annotated[str, typer.Option(help="Why.")],
    arguments_digest: DigestOption = None,
    format_: FormatOption = None,
) -> None:
    """End the call: it is never sent."""
    with services() as (wired, caller):
        view = wired.approvals.deny(
            caller, commit_key, intent_id, reason=reason, arguments_digest=arguments_digest
        )
    show_rows([view], COLUMNS, format_)
