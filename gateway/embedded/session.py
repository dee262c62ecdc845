"""A user's hold on the shared server of one home."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from gateway.embedded import notice
from gateway.embedded.datafolder import DataFolder, locate
from gateway.embedded.errors import (
    FolderUnusableError,
    NotStartedError,
    ServerStartError,
    StartTimeoutError,
    by_code,
    log_tail,
)
from gateway.embedded.locks import POLL_S, LockFile, is_held, opened
from gateway.embedded.notice import APP, OWNER, SUPERUSER, ServerNotice
from gateway.embedded.order import Order
from gateway.embedded.server import arguments

START_TIMEOUT_S = 60.0
END_PATIENCE_S = 10.0


class EmbeddedPostgres:
    """A hold on the shared server of one home: while it is open, the server runs.

    Any number of processes may hold one; the first starts the server, and it ends within about two seconds
    when the last lets go: by `close`, by leaving the `with` block, by ending, by being killed.

        with EmbeddedPostgres(Path("~/.commitgate")) as postgres:
            engine = create_engine(postgres.service_url)
    """

    def __init__(
        self, home: Path, *, settings: Mapping[str, str] | None = None, timeout_s: float = START_TIMEOUT_S
    ) -> None:
        """Nothing happens before `open`. `settings` count for the user that starts the server only."""
        self._home = home
        self._settings = dict(settings or {})
        self._timeout_s = timeout_s
        self._folder: DataFolder | None = None
        self._users: LockFile | None = None
        self._notice: ServerNotice | None = None
        self._child: int | None = None

    def open(self) -> Self:
        """Join the server, starting it where nobody has; harmless when open. Raises EmbeddedPostgresError."""
        if self._notice is not None:
            return self
        arguments(Path("/"), self._settings)
        self._folder = folder = locate(self._home)
        deadline = time.monotonic() + self._timeout_s
        try:
            self._users = LockFile(folder.users_lock)
            # A guardian that is ending holds this alone until its server is gone.
            if not self._users.shared_by(deadline):
                raise StartTimeoutError(f"the server of {folder.root} is still ending")
            with opened(folder.start_lock) as start_lock:
                if not start_lock.exclusive_by(deadline):
                    raise StartTimeoutError(f"another user is still starting the server of {folder.root}")
                self._notice = self._found(folder, deadline)
        except OSError as error:
            self._let_go()
            raise FolderUnusableError(f"the data folder {folder.root} cannot be used: {error}") from error
        except BaseException:
            self._let_go()
            raise
        return self

    @property
    def alive(self) -> bool:
        """Whether the server that was joined still runs. It may have died under its users."""
        return self._running(self.folder) is not None

    def reopen(self) -> Self:
        """Join the server again, starting it where it died; address and data stay. Raises EmbeddedPostgresError."""
        folder, deadline = self.folder, time.monotonic() + self._timeout_s
        try:
            with opened(folder.start_lock) as start_lock:
                if not start_lock.exclusive_by(deadline):
                    raise StartTimeoutError(f"another user is still starting the server of {folder.root}")
                self._notice = self._found(folder, deadline)
        except OSError as error:
            raise FolderUnusableError(f"the data folder {folder.root} cannot be used: {error}") from error
        return self

    def close(self) -> None:
        """Let go; the last user waits until the server is gone (ten seconds at most)."""
        if self._folder is None or self._users is None:
            return
        self._notice = None
        self._users.unlock()
        self._wait_end(self._folder, self._users)
        self._let_go()

    def __enter__(self) -> Self:
        """As `open`."""
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As `close`."""
        self.close()

    @property
    def owner_url(self) -> str:
        """SQLAlchemy URL of the database's owner, for migrations; may create roles, no superuser."""
        return self._open_notice.url(OWNER)

    @property
    def service_url(self) -> str:
        """SQLAlchemy URL of the services' login, in `commitgate_service`; neither owner nor superuser."""
        return self._open_notice.url(APP)

    def login_url(self, login: str) -> str:
        """SQLAlchemy URL of one of the logins of ``gateway.embedded.logins``."""
        return self._open_notice.url(login)

    @property
    def admin_url(self) -> str:
        """SQLAlchemy URL of the superuser, for tests."""
        return self._open_notice.url(SUPERUSER)

    @property
    def server(self) -> ServerNotice:
        """Where the server listens and which processes it and its guardian are."""
        return self._open_notice

    @property
    def folder(self) -> DataFolder:
        """The data folder; raises NotStartedError before the first `open`."""
        if self._folder is None:
            raise NotStartedError("open the embedded Postgres first")
        return self._folder

    @property
    def _open_notice(self) -> ServerNotice:
        if self._notice is None:
            raise NotStartedError("open the embedded Postgres before asking for its URLs")
        return self._notice

    def _found(self, folder: DataFolder, deadline: float) -> ServerNotice:
        """The running server, else a new one; called by one user at a time."""
        while time.monotonic() < deadline:
            running = self._running(folder)
            if running is not None:
                return running
            if is_held(folder.guardian_lock):  # it starts up, or has not seen yet that its server is gone
                time.sleep(POLL_S)
            else:
                self._launch(folder, deadline)
        raise StartTimeoutError(f"the server of {folder.root} was not ready in time")

    @staticmethod
    def _running(folder: DataFolder) -> ServerNotice | None:
        found = notice.read(folder.notice)
        alive = found is not None and is_held(folder.guardian_lock) and found.answers()
        return found if alive else None

    def _launch(self, folder: DataFolder, deadline: float) -> None:
        """Start a guardian and wait for its report: it is ready, or another one has the folder."""
        self._reap()
        reader, writer = os.pipe()
        try:
            self._child = _spawn(folder, self._order(folder, deadline), writer)
        finally:
            os.close(writer)
        try:
            report = _read_line(reader, deadline)
        finally:
            os.close(reader)
        if report is None:
            raise StartTimeoutError(f"the server of {folder.root} was not ready in time")
        if not report:
            raise ServerStartError(f"the guardian ended without a word:\n{log_tail(folder.guardian_log)}")
        said = json.loads(report)
        if said["state"] == "failed":
            raise by_code(said["code"], said["message"])

    def _order(self, folder: DataFolder, deadline: float) -> Order:
        return Order(str(folder.root), folder.account, self._settings, deadline - time.monotonic())

    def _wait_end(self, folder: DataFolder, users: LockFile) -> None:
        """Wait while the guardian ends the server; return at once where other users hold it."""
        deadline = time.monotonic() + END_PATIENCE_S
        others = 0
        while is_held(folder.guardian_lock) and others < 3 and time.monotonic() < deadline:
            if users.try_exclusive():  # nobody else, and the guardian has not looked yet
                users.unlock()
                others = 0
            elif folder.notice.exists():  # other users, or another one that looks at this very moment
                others += 1
            time.sleep(POLL_S)

    def _let_go(self) -> None:
        if self._users is not None:
            self._users.close()
            self._users = None
        self._reap()

    def _reap(self) -> None:
        """Collect a guardian of ours that has ended, so that it does not stay as a zombie."""
        if self._child is None:
            return
        deadline = time.monotonic() + 0.5
        try:
            while os.waitpid(self._child, os.WNOHANG) == (0, 0):
                if self._folder is None or is_held(self._folder.guardian_lock) or time.monotonic() > deadline:
                    return
                time.sleep(POLL_S)
        except ChildProcessError:
            pass
        self._child = None


def start(
    home: Path, *, settings: Mapping[str, str] | None = None, timeout_s: float = START_TIMEOUT_S
) -> EmbeddedPostgres:
    """An open hold on the server of `home`, started where nobody has. Raises EmbeddedPostgresError."""
    return EmbeddedPostgres(home, settings=settings, timeout_s=timeout_s).open()


def _spawn(folder: DataFolder, order: Order, report_to: int) -> int:
    """Start a guardian in a session of its own; its pid."""
    root = str(Path(__file__).resolve().parents[2])
    search = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    log_flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "gateway.embedded.guardian", order.text()],
            {**os.environ, "PYTHONPATH": search},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, report_to, 1),
                (os.POSIX_SPAWN_OPEN, 2, str(folder.guardian_log), log_flags, 0o600),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE),
        )
    except OSError as error:
        raise ServerStartError(f"the guardian cannot be started: {error}") from error


def _read_line(reader: int, deadline: float) -> bytes | None:
    """What the guardian reports up to the end of its line or of itself; None when the time is up."""
    said = b""
    while not said.endswith(b"\n"):
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        chunk = os.read(reader, 65536)
        if not chunk:
            break
        said += chunk
    return said if said.endswith(b"\n") else b""
