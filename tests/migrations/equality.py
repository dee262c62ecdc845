"""The database that the revisions build is the one that the models and the SQL objects describe.

Both are built, dumped by pg_dump and compared as text, triggers, functions, comments and grants included. Run as
``python -m tests.migrations.equality``: says nothing and exits 0 where they are equal, prints the difference and
exits 1 where they are not.
"""

import re
import subprocess
import sys
from difflib import unified_diff

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from gateway.embedded.binaries import candidates
from ledger.migrate import upgrade
from ledger.tables import metadata
from migrations.objects import AFTER_TABLES, BEFORE_TABLES, in_order
from tests import postgres
from tests.postgres import DatabaseServer, TestDatabase, libpq

# Alembic's own table is no part of the models; \restrict carries a key made anew for each dump.
_LEFT_OUT = "--exclude-table=ledger.alembic_version"
_NOISE = re.compile(r"^\\(un)?restrict .*\n", re.MULTILINE)


def build_from_models(owner_url: str) -> None:
    """Tables from the models, everything else from ``migrations/sql``; no revision is run."""
    engine = create_engine(owner_url, poolclass=NullPool)
    with engine.begin() as connection:
        for statements in in_order(BEFORE_TABLES):
            connection.exec_driver_sql(statements)
        metadata.create_all(connection)
        for statements in in_order(AFTER_TABLES):
            connection.exec_driver_sql(statements)


def dump(database: TestDatabase) -> str:
    """The schema of a database as pg_dump writes it."""
    programs = (candidate.bin / "pg_dump" for candidate in candidates())
    program = next(path for path in programs if path.is_file())
    command = [program, "--schema-only", "--no-sync", _LEFT_OUT, f"--dbname={libpq(database.owner_url)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"pg_dump failed: {done.stderr.strip()}")
    return _NOISE.sub("", done.stdout)


def difference(migrated: TestDatabase, modelled: TestDatabase) -> str:
    """The lines in which two databases differ, as a unified diff; empty where they are equal."""
    dumps = [dump(database).splitlines(keepends=True) for database in (migrated, modelled)]
    return "".join(unified_diff(*dumps, "by revisions", "by models"))


def compare(server: DatabaseServer) -> str:
    """Build both databases on ``server`` and compare them."""
    server.prepare_roles()
    with server.database("migrated") as migrated, server.database("modelled") as modelled:
        upgrade(migrated.owner_url)
        build_from_models(modelled.owner_url)
        return difference(migrated, modelled)


def main() -> int:
    """Compare on a server of this run's own."""
    home = postgres.make_home()
    try:
        with postgres.server() as server:
            found = compare(server)
    finally:
        postgres.remove_home(home)
    sys.stdout.write(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
