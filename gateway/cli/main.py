"""``commitgate``: the command line. Exit codes: 0 done, 1 it failed, 2 bad usage or bad input, 3 findings (reconcile)."""

import sys
from typing import NoReturn

import typer
from sqlalchemy.exc import DBAPIError
from typer.exceptions import TyperException

from decoding.errors import DecodingError
from effects.errors import EffectsError
from gateway.cli import db, decode, demo, doubt, effects, intents, ledger, reconcile, serve, streams
from gateway.cli.output import say
from gateway.embedded.errors import EmbeddedPostgresError
from gateway.errors import BadInput, GatewayError, NotFound
from ledger.errors import LedgerError

app = typer.Typer(
    name="commitgate",
    help="The gate between a language model and the tools it calls.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 it failed, 2 bad usage or bad input, 3 findings (reconcile run).",
)
app.command("serve")(serve.serve)
app.command("worker")(serve.worker)
app.command("demo")(demo.demo)
app.command("decode")(decode.decode)
app.add_typer(db.app, name="db")
app.add_typer(effects.app, name="effects")
app.add_typer(streams.app, name="streams")
app.add_typer(intents.app, name="intents")
app.add_typer(doubt.app, name="doubt")
app.add_typer(reconcile.app, name="reconcile")
app.add_typer(ledger.app, name="ledger")


def run() -> NoReturn:
    """Run one command; every failure ends in one line with a stable code, never in a traceback."""
    try:
        # Outside of standalone mode ``typer.Exit`` ends here as the value of the call, not as an exception.
        code = app(standalone_mode=False)
    except TyperException as error:
        # No message: the command was named alone, and its help is printed already.
        if error.format_message():
            say(f"error: bad_usage: {error.format_message()}")
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the edge: what is not known by name is still said in one line
        _fail(error)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(error: Exception) -> NoReturn:
    bad_input = isinstance(error, BadInput | NotFound)
    say(f"error: {_code(error)}: {error}")
    sys.exit(2 if bad_input else 1)


def _code(error: Exception) -> str:
    if isinstance(error, GatewayError):
        return error.stable_code
    if isinstance(error, LedgerError | EffectsError | DecodingError | EmbeddedPostgresError):
        return str(error.code)
    if isinstance(error, DBAPIError):
        return "database_error"
    return "invalid_settings" if type(error).__name__ == "ValidationError" else "internal_error"
