"""The account that the server runs as.

Postgres refuses to run as root. Root therefore steps down to an account that exists already; no account is
created and nothing is changed for it outside the data folder.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.errors import NoServerAccountError

SETTING = "COMMITGATE_POSTGRES_USER"
CANDIDATES = ("nobody", "daemon")


@dataclass(frozen=True)
class ServerAccount:
    """Who the server runs as; `steps_down` where that is somebody else than this process."""

    name: str
    uid: int
    gid: int
    steps_down: bool

    @property
    def user(self) -> int | None:
        """The `user=` of a subprocess that runs as this account."""
        return self.uid if self.steps_down else None

    @property
    def group(self) -> int | None:
        """The `group=` of a subprocess that runs as this account."""
        return self.gid if self.steps_down else None

    @property
    def extra_groups(self) -> list[int] | None:
        """The `extra_groups=` of a subprocess that runs as this account: none of root's."""
        return [] if self.steps_down else None

    def run(
        self, argv: Sequence[str | Path], stdin: str = "", preexec: Callable[[], None] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end as this account, in a bare environment; OSError if it cannot begin."""
        return subprocess.run(
            [str(part) for part in argv],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            cwd="/",
            env=bare_environment(),
            user=self.user,
            group=self.group,
            extra_groups=self.extra_groups,
            preexec_fn=preexec,
        )

    def can_enter(self, folder: Path) -> bool:
        """Whether this account may enter the folder, found by doing it: mode bits alone do not tell."""
        if not self.steps_down:
            return os.access(folder, os.X_OK)
        try:
            return self.run(["/bin/sh", "-c", 'cd -- "$1"', "sh", folder]).returncode == 0
        except OSError as error:
            raise NoServerAccountError(
                f"root may not step down to the account {self.name!r} ({error}); run as an ordinary user, or"
                " set COMMITGATE_DATABASE_URL to a Postgres of your own"
            ) from error

    def own(self, folder: Path) -> None:
        """Make a folder of ours this account's, closed to everybody else."""
        folder.chmod(0o700)
        if self.steps_down:
            os.chown(folder, self.uid, self.gid)


def bare_environment() -> dict[str, str]:
    """The environment of the server and its tools: nothing of PG*, and messages in English."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def server_account(data_owner: int | None, environ: Mapping[str, str] = os.environ) -> ServerAccount:
    """The account to run the server as.

    This process's own user, unless that is root. For root: the owner of data that exists already, else the
    account named by COMMITGATE_POSTGRES_USER, else `nobody`, else `daemon`. Raises NoServerAccountError where
    there is none.
    """
    if os.geteuid() != 0:
        return ServerAccount(str(os.geteuid()), os.geteuid(), os.getegid(), steps_down=False)
    if data_owner:
        return _by_uid(data_owner)
    wanted = environ.get(SETTING)
    for name in (wanted,) if wanted else CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return ServerAccount(name, entry.pw_uid, entry.pw_gid, steps_down=True)
    raise NoServerAccountError(
        f"Postgres refuses to run as root, and there is no account {wanted or ' or '.join(CANDIDATES)}; name"
        f" an existing one in {SETTING}, or set COMMITGATE_DATABASE_URL to a Postgres of your own"
    )


def _by_uid(uid: int) -> ServerAccount:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return ServerAccount(str(uid), uid, uid, steps_down=True)
    return ServerAccount(entry.pw_name, uid, entry.pw_gid, steps_down=True)
