"""Logs of a running process: on standard error, JSON lines unless a person watches."""

import logging
import sys

import structlog


def configure_logs(level: str = "info") -> None:
    """Send structured logs to standard error; standard output belongs to what a command prints. ``level``: the least that is."""
    watched = sys.stderr.isatty()
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if watched else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            _tracebacks() if not watched else structlog.processors.StackInfoRenderer(),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _tracebacks() -> structlog.typing.Processor:
    """Tracebacks as values, without the values of local variables: those are what people send through."""
    return structlog.processors.ExceptionRenderer(
        structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    )
