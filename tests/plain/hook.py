"""Every statement that the driver sends on a connection of the product is looked at first, whoever made it.

The product names its connections; those of tests have no name and may do what they like.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.plain.forbidden import forbidden

PRODUCT = b"commitgate"
"""How the application names of the product's connections begin."""

_METHODS = ("execute", "executemany", "stream", "copy")
_KINDS = (psycopg.Cursor, psycopg.ServerCursor, psycopg.AsyncCursor, psycopg.AsyncServerCursor)
_originals: dict[tuple[type, str], Any] = {}


class NotPlain(AssertionError):
    """The product used what a plain engine does not have. No error of the database: nobody may take it for one."""


def of_product(connection: Any) -> bool:
    """Whether the product opened this connection."""
    return bool((connection.pgconn.parameter_status(b"application_name") or b"").startswith(PRODUCT))


def spelled(query: Any, connection: Any) -> str:
    """The text of a statement, however it was given to the driver."""
    if isinstance(query, bytes):
        return query.decode()
    return query if isinstance(query, str) else str(query.as_string(connection))


def install() -> None:
    """Refuse from now on."""
    for kind in _KINDS:
        for name in _METHODS:
            original = kind.__dict__.get(name)
            if original is not None and (kind, name) not in _originals:
                _originals[kind, name] = original
                setattr(kind, name, _refusing(original))


def remove() -> None:
    """Refuse no more."""
    for (kind, name), original in _originals.items():
        setattr(kind, name, original)
    _originals.clear()


@contextmanager
def installed() -> Iterator[None]:
    """Refuse within the block; where it was refused before, also after it."""
    before = bool(_originals)
    install()
    try:
        yield
    finally:
        if not before:
            remove()


def _refusing(original: Any) -> Any:
    @functools.wraps(original)
    def looked_at(self: Any, query: Any, *rest: Any, **named: Any) -> Any:
        if of_product(self.connection):
            text = spelled(query, self.connection)
            feature = forbidden(text)
            if feature is not None:
                raise NotPlain(f"{feature} in plain mode: {text}")
        return original(self, query, *rest, **named)

    return looked_at
