"""One process of a function, as the dispatcher holds it: started, called again and again, one call at a time, ended."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import Self

from gateway.failpoints import FailPoint, reached
from gateway.upstream.callables.frames import ANSWER, BEGUN, BROKEN, CALL, HEAD, LONGEST_TOLD, READY, frame
from gateway.upstream.overheard import Overheard
from gateway.upstream.secrets import Resolved

MODULE = "gateway.upstream.callables.child"
GRACE = 2.0
"""Seconds that a process has to end after its stdin is closed, and again after SIGTERM."""

LAST_WORDS = 0.5
"""Seconds within which what a process said last is heard behind its end."""

LONGEST_MESSAGE = 2000
"""Characters of an error's message that are kept."""

LOOK = 0.01
_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER", "VIRTUAL_ENV")


class NotReady(Exception):
    """There is no process for the call, so nothing of it was sent. ``code`` is stable, ``lasting`` as in ``NotSent``."""

    def __init__(self, code: str, detail: str, *, lasting: bool = False) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.lasting = lasting


class Ended(Exception):
    """The process is gone, and no answer came."""


class Child:
    """A process that has loaded the function. ``begun``: whether it has entered it for the call that runs now or ran last."""

    def __init__(self, process: Process, overheard: Overheard) -> None:
        """See the class; made by ``start``."""
        assert process.stderr is not None  # noqa: S101 - started with pipes
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - started with pipes
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._overheard = overheard
        self._hearing = asyncio.create_task(overheard.hear(process.stderr))
        self.begun = False

    @classmethod
    async def start(cls, function: str, resolved: Resolved) -> Self:
        """Start one, with the variables of ``resolved``; what it says on stderr is logged without their secrets. Raises
        ``NotReady`` where it cannot be started or the function cannot be loaded.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                MODULE,
                function,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env={**_environment(), **resolved.values},
                start_new_session=True,
            )
        except OSError as error:
            raise NotReady("process_not_started", error.strerror or str(error)) from error
        child = cls(process, Overheard("function", resolved, function=function, pid=process.pid))
        try:
            kind, said, whole = await child._frame(LONGEST_TOLD)
        except Ended:
            await child.end()
            raise NotReady("process_not_started", f"it ended with {process.returncode}") from None
        except BaseException:
            child.kill()
            await child.end()
            raise
        if kind != READY:
            await child.end()
            code = "function_not_loaded" if kind == BROKEN else "process_not_started"
            told = resolved.hide_text(said.decode(errors="replace"), LONGEST_MESSAGE, cut=not whole)
            raise NotReady(code, told, lasting=True)
        return child

    @property
    def usable(self) -> bool:
        """Whether it lives, as far as is known."""
        return self._process.returncode is None and not self._stdout.at_eof()

    async def run(self, body: bytes, limit: int) -> tuple[bytes, bytes, bool]:
        """Make one call: kind and body of its answer, at most ``limit`` bytes of it, and whether that is all (of what the
        function raised all that is told, whatever ``limit`` is). Raises Ended.

        It must come to its end before the next one.
        """
        self.begun = False
        self._overheard.begin()
        with suppress(ConnectionError):
            # What it still said before it ended is read below.
            self._stdin.write(frame(CALL, body))
            await self._stdin.drain()
        reached(FailPoint.REQUEST_WRITTEN)
        while True:
            kind, said, whole = await self._frame(limit)
            if kind != BEGUN:
                return kind, said, whole
            self.begun = True

    def kill(self) -> None:
        """End it and everything that it started, at once."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def end(self) -> None:
        """Let it come to an end: a call that runs may finish within ``GRACE``."""
        with suppress(OSError):
            self._stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._gone():
                break
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
        await self._gone()
        # What it said last, if nobody else holds the pipe.
        await asyncio.wait({self._hearing}, timeout=LAST_WORDS)
        self._hearing.cancel()
        # A grandchild may hold the pipes; nothing public closes our ends of them.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()

    async def _gone(self) -> bool:
        deadline = asyncio.get_running_loop().time() + GRACE
        while self._process.returncode is None and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(LOOK)
        return self._process.returncode is not None

    async def _frame(self, limit: int) -> tuple[bytes, bytes, bool]:
        try:
            kind, length = HEAD.unpack(await self._stdout.readexactly(HEAD.size))
            limit = limit if kind == ANSWER else LONGEST_TOLD
            kept = await self._stdout.readexactly(min(length, limit))
            left = length - len(kept)
            while left:
                left -= len(await self._stdout.readexactly(min(left, 1 << 16)))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Ended from error
        return kind, kept, length <= limit


def _environment() -> dict[str, str]:
    """The few harmless variables, and where modules are found here."""
    found = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return found | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
