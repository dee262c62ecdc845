"""``commitgate ledger redact``: take away for good what one call asked for and was answered."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from sqlalchemy import Engine

from effects.wording import counted
from gateway.cli.output import FormatOption, say, show_rows
from gateway.cli.session import services
from gateway.database import database
from gateway.errors import InvalidRequest, UnknownIntent
from gateway.principal import Principal, Role
from gateway.settings import Settings
from gateway.wiring import Wired
from ledger.access.duty import Duty
from ledger.redaction.plan import concerned
from ledger.redaction.purging import Purger
from ledger.redaction.recording import record, redactable
from ledger.state import Intent

COLUMNS = ["commit_key", "intent_id", "intents", "payloads"]
UNFINISHED = ["commit_key", "intent_id", "seq", "at", "left"]
LONGEST_REASON = 2000
"""Characters of a reason, at most: it stays in the ledger for ever."""


def redact(
    commit_key: Annotated[str | None, typer.Argument(metavar="KEY", show_default=False)] = None,
    intent_id: Annotated[str | None, typer.Argument(metavar="INTENT", show_default=False)] = None,
    reason: Annotated[
        str, typer.Option(help="Why; kept for ever, so it must not repeat what is to go.")
    ] = "",
    pending: Annotated[
        bool, typer.Option("--pending", help="List redactions that were broken off; with --yes finish them.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    format_: FormatOption = None,
) -> None:
    """Take away arguments, answer and every draft that spells them, for good; what happened stays provable.

    The stream must be finished and the call over. Needs the redactor's login (COMMITGATE_REDACTION_DATABASE_URL) beside
    that of the services. What was broken off is finished when it is asked for again. Copies outside of the tables keep the
    text: backups, write-ahead logs and dead rows and statistics until VACUUM ANALYZE, earlier exports, the tools' own logs.
    """
    if pending:
        _pending(commit_key, yes, format_)
        return
    if commit_key is None or intent_id is None:
        raise InvalidRequest("name the commit key and the intent, or ask for --pending")
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise InvalidRequest(f"a redaction needs a --reason, of at most {LONGEST_REASON} characters")
    with _both() as (wired, caller, purger):
        meant = _meant(wired, caller, commit_key, intent_id)
        if not meant.redacted:
            _confirm(wired, caller, commit_key, meant, yes=yes)
        # The effect table's names are an operator's; any other name of a tool was made up by the model.
        known = wired.tables.current(caller.tenant).table.tools
        record(
            wired.ledger,
            caller.tenant,
            commit_key,
            intent_id,
            by=caller.name,
            reason=reason,
            name_stays=known.__contains__,
        )
        gone = purger.purge(caller.tenant, commit_key)
        names = [i.intent_id for i in wired.streams.state(caller, commit_key).intents.values() if i.redacted]
    row = {"commit_key": commit_key, "intent_id": intent_id, "intents": names, "payloads": gone}
    show_rows([row], COLUMNS, format_)


def _pending(commit_key: str | None, finish: bool, format_: FormatOption) -> None:
    if commit_key is not None:
        raise InvalidRequest("--pending is about all of them")
    settings = Settings()
    with _redactors(settings) as engine:
        purger = Purger(engine)
        found = purger.pending(settings.tenant)
        show_rows(map(asdict, found), UNFINISHED, format_)
        if finish:
            gone = sum(purger.purge(one.tenant, one.commit_key) for one in found)
            say(f"{counted(gone, 'payload')} taken away")


@contextmanager
def _redactors(settings: Settings) -> Iterator[Engine]:
    """Under the redactor's login. Raises InvalidRequest where a database is configured and that login is not."""
    if settings.database_url is not None and settings.redaction_database_url is None:
        raise InvalidRequest(
            "COMMITGATE_REDACTION_DATABASE_URL is not set: the login that redacts, a member of"
            f" {Duty.REDACTOR.role} and of no service's group"
        )
    with database(settings, "commitgate-cli", (Duty.REDACTOR,)) as engine:
        yield engine


@contextmanager
def _both() -> Iterator[tuple[Wired, Principal, Purger]]:
    """Under both logins from the beginning: without the redactor's nothing is even recorded."""
    settings = Settings()
    with (
        services(settings) as (wired, caller),
        _redactors(settings) as engine,
    ):
        caller.require(Role.OPERATOR)
        yield wired, caller, Purger(engine)


def _meant(wired: Wired, caller: Principal, commit_key: str, intent_id: str) -> Intent:
    state = wired.streams.state(caller, commit_key)
    if not commit_key.startswith("_") and intent_id not in state.intents:
        raise UnknownIntent(intent_id)
    return redactable(state, intent_id)


def _confirm(wired: Wired, caller: Principal, commit_key: str, meant: Intent, *, yes: bool) -> None:
    state = wired.streams.state(caller, commit_key)
    for intent in concerned(state, meant):
        say(
            f"{intent.intent_id} {intent.tool or 'unparsable call'} at [{intent.start}, {intent.end})"
            f" round {intent.round} of {intent.branch}: {intent.state.value}"
        )
    say(
        "arguments, names, answers and drafts of these go, and every event that spells them; nothing brings them back"
    )
    if not yes:
        typer.confirm("go on?", abort=True, err=True)
