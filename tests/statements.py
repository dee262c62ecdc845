"""Every statement that the product sends, seen at the driver, whoever made it: SQLAlchemy, COPY, or psycopg itself.

The product names its connections; those of tests have no name and are not looked at.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

PRODUCT = b"commitgate"
"""How the application names of the product's connections begin."""

Look = Callable[[str], None]

_METHODS = ("execute", "executemany", "stream", "copy")
_KINDS = (psycopg.Cursor, psycopg.ServerCursor, psycopg.AsyncCursor, psycopg.AsyncServerCursor)
_originals: dict[tuple[type, str], Any] = {}
_looking: list[Look] = []


@contextmanager
def looked_at_by(look: Look) -> Iterator[None]:
    """Show every statement to ``look`` before it is sent, from any thread, within the block. What it raises stops it."""
    begin(look)
    try:
        yield
    finally:
        end(look)


def begin(look: Look) -> None:
    """Show every statement to ``look`` from now on."""
    _looking.append(look)
    for kind in _KINDS:
        for name in _METHODS:
            original = kind.__dict__.get(name)
            if original is not None and (kind, name) not in _originals:
                _originals[kind, name] = original
                setattr(kind, name, _showing(original))


def end(look: Look) -> None:
    """Show ``look`` no more; the driver is as it was once nobody looks."""
    _looking.remove(look)
    if not _looking:
        for (kind, name), original in _originals.items():
            setattr(kind, name, original)
        _originals.clear()


def _of_product(connection: Any) -> bool:
    return bool((connection.pgconn.parameter_status(b"application_name") or b"").startswith(PRODUCT))


def _spelled(query: Any, connection: Any) -> str:
    if isinstance(query, bytes):
        return query.decode()
    return query if isinstance(query, str) else str(query.as_string(connection))


def _showing(original: Any) -> Any:
    @functools.wraps(original)
    def shown(self: Any, query: Any, *rest: Any, **named: Any) -> Any:
        if _of_product(self.connection):
            text = _spelled(query, self.connection)
            for look in tuple(_looking):
                look(text)
        return original(self, query, *rest, **named)

    return shown
