"""``commitgate``: the command line. Exit codes: 0 done, 1 it failed, 2 bad usage or bad input, 3 something was found.

Whoever looks for something wrong ends with 3 where it found it: reconcile run, ledger verify, ledger rebuild
--check, effects quarantine.
"""

import errno
import logging
import re
import sys
from importlib import import_module
from typing import NoReturn, TypeGuard

import typer
from pydantic_core import ErrorDetails, ValidationError
from typer.exceptions import TyperException

from decoding.errors import DecodingError
from effects.errors import EffectsError
from effects.wording import fault_said
from gateway.cli.output import say
from gateway.embedded.errors import EmbeddedPostgresError
from gateway.errors import BadInput, GatewayError, NotFound
from gateway.logs import configure_logs
from ledger.errors import (
    BadCursor,
    BadDatabaseUrl,
    LedgerError,
    NotAnAuditor,
    ToolLogRefused,
    UnfitAuditor,
    UnknownEvent,
    UnknownLogin,
    UnknownTenant,
)

COMMANDS = {"serve": "serve", "worker": "worker", "demo": "demo", "decode": "decode", "doctor": "doctor"}
"""Single commands, each a function of its name in a module of this package."""

NOUNS = (
    "db",
    "keys",
    "effects",
    "streams",
    "intents",
    "dispatch",
    "doubt",
    "approvals",
    "reconcile",
    "ledger",
    "bench",
)
"""Commands with verbs of their own, each the ``app`` of a module of this package."""


_SURROGATE = re.compile("[\udc80-\udcff]")
"""A byte of an argument that is no UTF-8, as Python keeps it."""

_BAD_ARGUMENTS = (
    BadCursor
    | BadDatabaseUrl
    | ToolLogRefused
    | UnknownLogin
    | NotAnAuditor
    | UnfitAuditor
    | UnknownEvent
    | UnknownTenant
)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FILE_FAULTS = FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError | UnicodeError


def application(*names: str) -> typer.Typer:
    """The command line with the named commands; none named: with all. Only their modules are loaded: it starts faster."""
    app = typer.Typer(
        name="commitgate",
        help="The gate between a language model and the tools it calls.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        epilog="Exit codes: 0 done, 1 it failed, 2 bad usage or bad input, "
        "3 something wrong was found (reconcile run, ledger verify, ledger rebuild --check, effects quarantine).",
    )
    # With a callback a single command keeps its name.
    app.callback()(_commitgate)
    wanted = set(names) or {*COMMANDS, *NOUNS}
    for name, module in COMMANDS.items():
        if name in wanted:
            app.command(name)(getattr(import_module(f"gateway.cli.{module}"), name))
    for name in NOUNS:
        if name in wanted:
            app.add_typer(import_module(f"gateway.cli.{name}").app, name=name)
    return app


def _commitgate() -> None:
    """The gate between a language model and the tools it calls."""


def run() -> NoReturn:
    """Run one command; every failure ends in one line with a stable code, never in a traceback."""
    # Any command may have something to log, and its standard output is read by programs.
    configure_logs("warning", for_good=False)
    # What its SDK has to say of a peer comes with tracebacks; what went wrong is said in one line below.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    try:
        # Outside of standalone mode ``typer.Exit`` ends here as the value of the call, not as an exception.
        first = sys.argv[1] if len(sys.argv) > 1 else ""
        app = application(first) if first in {*COMMANDS, *NOUNS} else application()
        code = app(standalone_mode=False)
    except TyperException as error:
        # No message: the command was named alone, and its help is printed already.
        if error.format_message():
            say(f"error: bad_usage: {' '.join(error.format_message().split())}")
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the edge: what is not known by name is still said in one line
        _fail(error)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(error: Exception) -> NoReturn:
    if _spells_no_text(error):
        say("error: bad_usage: an argument is no UTF-8 text")
        sys.exit(2)
    bad_input = (
        isinstance(error, BadInput | NotFound | _BAD_ARGUMENTS) or _of_file(error) or _of_settings(error)
    )
    say(f"error: {_code(error)}: {_told(error)}")
    sys.exit(2 if bad_input else 1)


def _spells_no_text(error: BaseException | None) -> bool:
    """Whether an argument that is no text came to where text is needed; a file's name need not be text."""
    if not any(_SURROGATE.search(argument) for argument in sys.argv):
        return False
    while error is not None and not (isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason):
        error = error.__cause__ or error.__context__
    return error is not None


def _of_file(error: Exception) -> bool:
    """Whether a file or folder that was named cannot be used as it would have to be."""
    return isinstance(error, _FILE_FAULTS) or (isinstance(error, OSError) and error.filename is not None)


def _told(error: Exception) -> str:
    """What happened, in one line."""
    if type(error).__module__.startswith("sqlalchemy"):
        cause = getattr(error, "orig", None) or error
        told = str(cause).strip().splitlines()[0]
        if type(cause).__name__ == "InsufficientPrivilege":
            told += "; migrations need the owner's login in COMMITGATE_MIGRATION_DATABASE_URL"
        return told
    if _of_settings(error):
        return "; ".join(map(_setting_said, error.errors(include_url=False, include_input=False)))
    return " ".join(str(error).split("\n"))


def _of_settings(error: Exception) -> TypeGuard[ValidationError]:
    return isinstance(error, ValidationError) and error.title == "Settings"


def _setting_said(fault: ErrorDetails) -> str:
    """``COMMITGATE_POOL_SIZE: must be an integer``."""
    name = "_".join(map(str, fault["loc"])).upper()
    return f"COMMITGATE_{name}: {fault_said(fault)}"


def _code(error: Exception) -> str:
    if isinstance(error, GatewayError):
        return error.stable_code
    if isinstance(error, LedgerError | EffectsError | DecodingError | EmbeddedPostgresError):
        return str(error.code)
    if type(error).__module__.startswith("sqlalchemy"):
        unreachable = type(error).__name__ == "OperationalError"
        return "database_unreachable" if unreachable else "database_error"
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return "disk_full"
    if _of_file(error):
        return "file_not_usable"
    return "invalid_settings" if _of_settings(error) else "internal_error"
