"""Logs of a running process: on standard error, JSON lines unless a person watches.

They tell whose call something is about, never what is in it: of an error only the first line is kept, for further ones
quote rows and inputs, and tracebacks come without the values of variables.
"""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO, cast

import structlog

QUOTING = ("error", "detail")
"""Members of a line that hold the text of an error."""


def configure_logs(level: str = "info", *, for_good: bool = True) -> None:
    """Send structured logs to standard error; standard output belongs to what a command prints.

    ``level``: the least that is. ``for_good``: nothing configures them again, so that a logger is made once.
    """
    watched = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            *(_for_people() if watched else _for_programs()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _StandardError())),
        cache_logger_on_first_use=for_good,
    )


class _StandardError:
    """What is standard error at the time of writing: loggers are kept, and it may be another by then."""

    def write(self, text: str) -> int:
        """Write there."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Flush it."""
        sys.stderr.flush()


def _for_people() -> list[structlog.typing.Processor]:
    tracebacks = structlog.dev.RichTracebackFormatter(show_locals=False)
    return [
        structlog.processors.StackInfoRenderer(),
        first_lines,
        structlog.dev.ConsoleRenderer(exception_formatter=tracebacks),
    ]


def _for_programs() -> list[structlog.typing.Processor]:
    as_values = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [
        structlog.processors.ExceptionRenderer(as_values),
        first_lines,
        structlog.processors.JSONRenderer(),
    ]


def first_lines(_logger: object, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keep the first line of what errors say: Postgres quotes rows behind it (DETAIL, CONTEXT), pydantic its input."""
    for name in QUOTING:
        if isinstance(line.get(name), str):
            line[name] = _first(line[name])
    _shorten(line.get("exception"))
    return line


def _shorten(raised: object) -> None:
    """The same for a traceback as values; those of a group stand within each other."""
    for each in raised if isinstance(raised, list) else ():
        if isinstance(each, dict):
            each["exc_value"] = _first(str(each.get("exc_value", "")))
            each.pop("exc_notes", None)
            each.pop("syntax_error", None)
            _shorten(each.get("exceptions"))
        else:
            _shorten(each)


def _first(text: str) -> str:
    # A KeyError shows its value as Python writes it, line breaks too.
    return re.split(r"\n|\\n", text.strip(), maxsplit=1)[0]
