"""Database URLs: PostgreSQL through psycopg 3, and nothing else."""

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from ledger.errors import BadDatabaseUrl

_DRIVER = "postgresql+psycopg"


def database_url(url: str) -> URL:
    """``url`` with its driver named; ``postgresql://`` and ``postgres://`` will do. Raises BadDatabaseUrl."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        # The text may hold a password, so it is not repeated.
        raise BadDatabaseUrl(
            f"the database URL cannot be read; expected {_DRIVER}://user@host/name"
        ) from error
    if parsed.drivername not in ("postgres", "postgresql", _DRIVER):
        raise BadDatabaseUrl(
            f"the database URL names {parsed.drivername!r}; expected {_DRIVER}://user@host/name"
        )
    return parsed.set(drivername=_DRIVER)
