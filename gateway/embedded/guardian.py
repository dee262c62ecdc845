"""The guardian of one data folder: the process that owns the server.

Started by the first user, in a session of its own so that no Ctrl-C of a user reaches the server. It ends the
server and itself when it can take the users' lock alone, that is when no user holds it; a killed user holds
nothing. If the guardian is killed itself, the kernel ends the server (Linux), and the next user starts
another guardian.

Its standard output is a pipe to the user that started it, which gets one line: see `order.Report`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from gateway.embedded import binaries as executables
from gateway.embedded import cluster, notice, orphans, socketdir
from gateway.embedded.datafolder import DataFolder
from gateway.embedded.errors import EmbeddedPostgresError, FolderUnusableError
from gateway.embedded.locks import LockFile
from gateway.embedded.order import Order, Report
from gateway.embedded.server import Server

LOOK_S = 0.05
START_TRIES = 4


class Guardian:
    """One guardian's work, from the locks to the last user's leaving."""

    def __init__(self, order: Order, locks: tuple[LockFile, LockFile]) -> None:
        """Of an order and the open locks: the guardian's, held alone already, and the users'."""
        self._order = order
        self._folder = DataFolder(Path(order.root), order.account)
        self._guardian_lock, self._users_lock = locks
        self._told_to_end = False
        self._socket_dir: Path | None = None

    def run(self) -> None:
        """Serve until no user is left; raises EmbeddedPostgresError if the server cannot be started."""
        signal.signal(signal.SIGTERM, self._on_term)
        self._forget_last()
        try:
            server = self._start()
            Report("ready").send()
            self._watch(server)
        finally:
            self._folder.notice.unlink(missing_ok=True)
            if self._socket_dir is not None:
                socketdir.remove(self._socket_dir, self._folder.account)

    def _on_term(self, *_: object) -> None:
        self._told_to_end = True

    def _forget_last(self) -> None:
        """A notice that is there now was left by a guardian that was killed."""
        last = notice.read(self._folder.notice)
        self._folder.notice.unlink(missing_ok=True)
        if last is not None:
            socketdir.remove(Path(last.socket_dir), self._folder.account)

    def _start(self) -> Server:
        folder = self._folder
        major = cluster.data_major(folder.data)
        binaries = executables.find(folder.account, folder.software, major)
        orphans.clear(folder.data, folder.account, binaries)
        cluster.ensure(folder, binaries)
        self._socket_dir = socketdir.make(folder)
        server = self._launch(binaries, self._socket_dir)
        listening = notice.ServerNotice(
            socket_dir=str(self._socket_dir),
            port=socketdir.PORT,
            server_pid=server.pid,
            guardian_pid=os.getpid(),
            version=binaries.version,
        )
        listening.write(folder.notice)
        return server

    def _launch(self, binaries: executables.Binaries, socket_dir: Path) -> Server:
        """Start the server; again where backends of a killed one still let go of its memory."""
        deadline = time.monotonic() + self._order.patience_s
        for last_try in (*[False] * (START_TRIES - 1), True):
            server = Server(self._folder, binaries, socket_dir, self._order.settings)
            try:
                server.wait_ready(deadline)
            except EmbeddedPostgresError as error:
                server.stop()
                if last_try or "still in use" not in str(error):
                    raise
                time.sleep(0.5)
            else:
                return server
        raise AssertionError("the last try returns or raises")

    def _watch(self, server: Server) -> None:
        while not (server.ended() or self._told_to_end or self._users_lock.try_exclusive()):
            time.sleep(LOOK_S)
        self._folder.notice.unlink(missing_ok=True)
        server.stop()


def main(argv: list[str]) -> int:
    """Run one guardian: `argv` holds an order; 0 when it served or had nothing to do, 1 when it failed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.closerange(3, 1024)  # what the user had open is not to stay open with this
    os.chdir("/")
    os.umask(0o077)
    order = Order.read(argv[0])
    folder = DataFolder(Path(order.root), order.account)
    try:
        locks = LockFile(folder.guardian_lock), LockFile(folder.users_lock, create=False)
        if not locks[0].try_exclusive():
            Report("busy").send()
            return 0
        if locks[1].try_exclusive():  # the user that wanted a server is gone already
            return 0
        Guardian(order, locks).run()
    except EmbeddedPostgresError as error:
        Report("failed", error.code, str(error)).send()
        return 1
    except OSError as error:
        Report(
            "failed", FolderUnusableError.code, f"the data folder {folder.root} cannot be used: {error}"
        ).send()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
