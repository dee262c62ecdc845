"""``commitgate`` without its start: one process has loaded the product, and forks for each command.

The command is a process of its own all the same, with the caller's arguments, environment, folder and files. ``shim`` is
a ``commitgate`` for a PATH, so that a shell may run it word for word; ``run`` is for tests that call it themselves.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
LOADED = (
    "alembic.command",
    "alembic.runtime.migration",
    "alembic.script",
    "cel",
    "gateway.running",
    "gateway.upstream.mcp.adapter",
    "uvicorn",
)
_MOST = 1 << 20
_CLIENT = """#!{python} -IS
import json, os, socket, sys
place = socket.socket(socket.AF_UNIX)
place.connect({place!r})
told = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
socket.send_fds(place, [len(told).to_bytes(4, "big")], [0, 1, 2])
place.sendall(told)
code = place.recv(1)
sys.exit(code[0] if code else 137)
"""


class Commands:
    """Where commands are run. ``shim``: a program that is ``commitgate`` to whoever starts it."""

    def __init__(self, folder: Path) -> None:
        place = folder / "place"
        self.shim = folder / "commitgate"
        self.shim.write_text(_CLIENT.format(python=sys.executable, place=str(place)), encoding="utf-8")
        self.shim.chmod(0o755)
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.commands", str(place)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == b"ready\n"

    def run(
        self, *arguments: str, environ: Mapping[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """One command, in the folder of the product; ``environ`` is added to this process's environment."""
        return subprocess.run(
            [str(self.shim), *arguments],
            cwd=ROOT,
            env={**os.environ, **(environ or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def close(self) -> None:
        """End it."""
        self._server.kill()
        self._server.communicate()


@contextmanager
def commands() -> Iterator[Commands]:
    """Commands for the length of the block."""
    with tempfile.TemporaryDirectory(prefix="commitgate-commands-") as folder:
        running = Commands(Path(folder))
        try:
            yield running
        finally:
            running.close()


def serve(place: str) -> NoReturn:
    """Fork for every caller, until killed."""
    from gateway.cli.main import NOUNS, application

    application(*NOUNS, "serve", "worker", "doctor")
    for module in LOADED:
        import_module(module)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # dead children are nobody's zombies
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        print("ready", flush=True)
        while True:
            caller, _ = door.accept()
            if os.fork() == 0:
                door.close()
                _become(caller)
            caller.close()


def _become(caller: socket.socket) -> NoReturn:
    from gateway.cli.main import run

    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        length, files, _, _ = socket.recv_fds(caller, 4, 3)
        arguments, environ, folder = json.loads(_read(caller, int.from_bytes(length, "big")))
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(folder)
        sys.argv = ["commitgate", *arguments]
        run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - the process ends here, and says why
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        caller.sendall(bytes([code]))
        os._exit(code)


def _read(caller: socket.socket, length: int) -> bytes:
    told = b""
    while len(told) < length:
        told += caller.recv(_MOST)
    return told


if __name__ == "__main__":
    serve(sys.argv[1])
