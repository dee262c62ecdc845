"""A new cluster: initdb, the roles and the database.

It is made beside the data folder and moved into place when complete, so that a cluster which is there is
whole.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

from gateway.embedded.binaries import Binaries
from gateway.embedded.datafolder import DataFolder
from gateway.embedded.errors import FolderUnusableError, InitFailedError, indented
from gateway.embedded.notice import APP, DATABASE, OWNER, SERVICE, SUPERUSER
from gateway.embedded.parentage import ended_with_parent

MAKING = "making-"

# The owner makes the roles itself: from Postgres 16 on that gives it the right to grant them, before that
# CREATEROLE does.
BOOTSTRAP = f"""\
CREATE ROLE {OWNER} LOGIN CREATEROLE;

CREATE DATABASE {DATABASE} OWNER {OWNER};

SET ROLE {OWNER};

CREATE ROLE {SERVICE} NOLOGIN;

CREATE ROLE {APP} LOGIN;

GRANT {SERVICE} TO {APP};

"""


def data_major(data: Path) -> int | None:
    """The major version of Postgres that made the cluster; None where there is none."""
    try:
        return int((data / "PG_VERSION").read_text(encoding="ascii").strip())
    except (FileNotFoundError, ValueError):
        return None


def ensure(folder: DataFolder, binaries: Binaries) -> None:
    """Make the cluster where there is none; raises InitFailedError with what the tools said."""
    if folder.data.exists():
        if data_major(folder.data) is None:
            raise FolderUnusableError(
                f"{folder.data} is there and is no Postgres cluster; move it away to begin anew"
            )
        return
    for left in folder.root.glob(f"{MAKING}*"):  # by a guardian that was killed
        shutil.rmtree(left, ignore_errors=True)
    making = Path(tempfile.mkdtemp(prefix=MAKING, dir=folder.root))
    folder.account.own(making)
    try:
        draft = making / "data"
        _initdb(folder, binaries, draft)
        _bootstrap(folder, binaries, draft)
        draft.rename(folder.data)
        _sync(folder.root)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _initdb(folder: DataFolder, binaries: Binaries, draft: Path) -> None:
    options = ("-A", "trust", "-E", "UTF8", "--no-locale", "--data-checksums", "--no-instructions")
    _run(folder, [binaries["initdb"], "-D", draft, "-U", SUPERUSER, *options], "")


def _bootstrap(folder: DataFolder, binaries: Binaries, draft: Path) -> None:
    """The single-user server: no socket, no second start, nobody else there meanwhile."""
    options = ("-j", "-c", "exit_on_error=on", "-c", "log_checkpoints=off")
    _run(folder, [binaries["postgres"], "--single", "-D", draft, *options, "postgres"], BOOTSTRAP)


def _run(folder: DataFolder, argv: list[str | Path], stdin: str) -> None:
    try:
        done = folder.account.run(argv, stdin, ended_with_parent(signal.SIGTERM))
    except OSError as error:
        raise InitFailedError(f"{argv[0]} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise InitFailedError(
            f"a new cluster cannot be made in {folder.root}: {Path(argv[0]).name} ended with"
            f" {done.returncode}:\n" + indented(done.stdout + done.stderr)
        )


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
