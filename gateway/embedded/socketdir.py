"""The private folder of the server's socket.

The path of a Unix socket has room for 103 bytes on every system (107 on Linux), and libpq reads commas in a
host as a list: where the data folder's own path is too long or too odd, a short folder below /tmp serves
instead.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from gateway.embedded.account import ServerAccount
from gateway.embedded.datafolder import DataFolder
from gateway.embedded.errors import FolderUnusableError

PORT = 5432
ROOM = 103 - len(f"/.s.PGSQL.{PORT}")
PLAIN = re.compile(r"/[A-Za-z0-9._/+-]*")
PREFIX = "commitgate-"


def make(folder: DataFolder) -> Path:
    """An empty folder for the socket that only the server's account (and root) may enter."""
    if fits(folder.socket):
        shutil.rmtree(folder.socket, ignore_errors=True)
        folder.socket.mkdir()
        folder.account.own(folder.socket)
        return folder.socket
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108 - mkdtemp makes it private
        made = _short(Path(parent), folder.account)
        if made is not None:
            return made
    raise FolderUnusableError(
        f"the path {folder.socket} is too long for a socket, and there is no short temporary folder"
    )


def remove(path: Path, account: ServerAccount) -> None:
    """Take away a socket folder of ours, also one that a killed guardian left; nothing else."""
    try:
        ours = path.lstat().st_uid == account.uid and (path.name.startswith(PREFIX) or path.name == "socket")
    except OSError:
        return
    if ours:
        shutil.rmtree(path, ignore_errors=True)


def fits(path: Path) -> bool:
    """Whether a socket below this folder can be named by the server, libpq and a URL."""
    return len(os.fsencode(path)) <= ROOM and PLAIN.fullmatch(str(path)) is not None


def _short(parent: Path, account: ServerAccount) -> Path | None:
    if not account.can_enter(parent):
        return None
    try:
        made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    except OSError:
        return None
    if not fits(made):
        made.rmdir()
        return None
    account.own(made)
    return made
