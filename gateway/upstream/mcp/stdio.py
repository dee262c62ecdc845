"""An MCP server that we start: a process in a session of its own, spoken to over its stdin and stdout.

The SDK has such a transport. This one differs where a gateway must: it says whether a call was written, it holds no line
of any length, and it puts the accepted bytes of the arguments into the request.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, RequestId

from gateway.failpoints import FailPoint, reached
from gateway.upstream.mcp.lines import Lines, message_of
from gateway.upstream.mcp.passage import CALL, PASSAGE, Passage
from gateway.upstream.overheard import Overheard
from gateway.upstream.secrets import NOTHING, Resolved

CHUNK = 1 << 16
GRACE = 2.0
"""Seconds that a server has to end after its stdin is closed, and again after SIGTERM."""

LAST_WORDS = 0.5
"""Seconds within which what it said last is heard behind its end."""

MINUTE = 60.0
LOOK = 0.01
"""Seconds between looks whether it has ended."""

_log = structlog.get_logger(__name__)

Inbox = MemoryObjectSendStream[SessionMessage | Exception]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], "Pipe"]


@asynccontextmanager
async def stdio_transport(
    command: Sequence[str], variables: Resolved = NOTHING, alias: str = ""
) -> AsyncIterator[Streams]:
    """Start ``command`` and speak to it. Raises OSError where it cannot be started.

    It inherits the few harmless variables of the environment that the SDK names, beside its own. What it says on stderr is
    logged under ``alias``, without the secrets of ``variables``. At the end its whole process group is ended: first by
    closing stdin, then by SIGTERM, then by SIGKILL.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**get_default_environment(), **variables.values},
        start_new_session=True,
    )
    hearing = _hearing(process, variables, alias)
    inbox, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    pipe = Pipe(process)
    reading = asyncio.create_task(_read(process, inbox, pipe.hear))
    try:
        yield read, pipe
    finally:
        # First: a reader that waits for a listener would not see the end.
        read.close()
        await _surely(_end(process, reading, hearing))


class Pipe:
    """The write stream of the transport: each message goes to the process at once."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """See the class."""
        assert process.stdin is not None  # noqa: S101 - it was started with a pipe
        self._process = process
        self._stdin = process.stdin
        self._passages: WeakValueDictionary[RequestId, Passage] = WeakValueDictionary()

    def hear(self, item: SessionMessage) -> None:
        """Note on the call that it was refused: the SDK tells a broken pipe by an error that a server may send, too."""
        message = item.message
        if isinstance(message, JSONRPCError) and message.id is not None:
            passage = self._passages.get(message.id)
            if passage is not None:
                passage.refused = True

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message. Raises ``anyio.BrokenResourceError`` where the process is gone."""
        if self._process.returncode is not None or self._stdin.is_closing():
            raise anyio.BrokenResourceError
        message = item.message
        data = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        passage = PASSAGE.get()
        if passage is not None and isinstance(message, JSONRPCRequest) and message.method == CALL:
            data = passage.spell(data)
            self._passages[message.id] = passage
            passage.begun = True
        # All of it is taken at once: whoever gives up waiting leaves no half message behind.
        self._stdin.write(data + b"\n")
        try:
            await self._stdin.drain()
        except ConnectionError:
            raise anyio.BrokenResourceError from None
        if passage is not None and passage.begun:
            reached(FailPoint.REQUEST_WRITTEN)

    async def aclose(self) -> None:
        """Nothing: the process is ended by the transport."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def _read(
    process: asyncio.subprocess.Process, inbox: Inbox, hear: Callable[[SessionMessage], None]
) -> None:
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    lines = Lines()
    listening = True
    async with inbox:
        # Also when nobody listens any more: a server that cannot write cannot end.
        while chunk := await process.stdout.read(CHUNK):
            for line in lines.feed(chunk):
                message = message_of(line) if line else None
                if line and message is None:
                    _log.warning("mcp_line_not_understood", pid=process.pid)
                if message is None or not listening:
                    continue
                hear(message)
                try:
                    await inbox.send(message)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    listening = False


def _hearing(process: asyncio.subprocess.Process, variables: Resolved, alias: str) -> asyncio.Task[None]:
    assert process.stderr is not None  # noqa: S101 - it was started with a pipe
    told = Overheard("mcp_server", variables, seconds=MINUTE, server=alias, pid=process.pid)
    return asyncio.create_task(told.hear(process.stderr))


async def _surely(work: Coroutine[None, None, None]) -> None:
    """Await ``work`` to its end, also when this is cancelled meanwhile: a process would stay behind."""
    task = asyncio.create_task(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


async def _end(
    process: asyncio.subprocess.Process, reading: asyncio.Task[None], hearing: asyncio.Task[None]
) -> None:
    assert process.stdin is not None  # noqa: S101 - it was started with a pipe
    with suppress(OSError):
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _gone(process):
            break
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
    await _gone(process)
    reading.cancel()
    # What it said last, if nobody else holds the pipe.
    await asyncio.wait({hearing}, timeout=LAST_WORDS)
    hearing.cancel()
    await asyncio.gather(reading, hearing, return_exceptions=True)
    # A grandchild may hold the pipes; nothing public closes our ends of them.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _gone(process: asyncio.subprocess.Process) -> bool:
    # Not process.wait(), which also waits for the pipes: a grandchild that holds one would make the server look alive.
    deadline = time.monotonic() + GRACE
    while process.returncode is None and time.monotonic() < deadline:
        await asyncio.sleep(LOOK)
    return process.returncode is not None
