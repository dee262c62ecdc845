"""One long-lived session with one MCP server."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import structlog
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation, PaginatedRequestParams, ToolListChangedNotification
from pydantic import ValidationError

from gateway.upstream.guarded import ADDRESS_REFUSED
from gateway.upstream.mcp.access import Access
from gateway.upstream.mcp.definitions import digests
from gateway.upstream.mcp.line import Line
from gateway.upstream.mcp.stdio import stdio_transport
from gateway.upstream.mcp.web import Wire, web_line
from gateway.upstream.secrets import NOTHING, SECRET_MISSING, Resolved, SecretMissing, Secrets

OPEN_TIMEOUT = 15.0
"""Seconds that a server has to be started and to list its tools."""

RECHECK = 30.0
"""Seconds for which a listing of definitions is good: not every server tells when it changes."""

PAGES = 100
"""Most pages of a listing that are read."""

LONGEST_TOLD = 300
"""Characters of what is said of an error."""

SETTLE = 600.0
"""Seconds for which a session that is replaced is kept for the calls in flight."""

_log = structlog.get_logger(__name__)
_US = Implementation(name="commitgate", version="1")


class Unreachable(Exception):
    """The server cannot be called now, and nothing was sent. ``code`` is stable, ``detail`` for a person; ``lasting``: to
    try again at once would come to the same.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.lasting = code in (ADDRESS_REFUSED, SECRET_MISSING)
        self.detail = detail


class Connection:
    """A session, opened by ``open`` and kept by a task of its own until it ends, fails or is ``retire``d.

    ``alias``: the server's name in logs. ``secrets``: what its headers or variables may refer to. ``open_timeout`` and
    ``recheck`` in seconds. Use it from one event loop.
    """

    def __init__(
        self,
        access: Access,
        *,
        alias: str = "",
        secrets: Secrets | None = None,
        open_timeout: float = OPEN_TIMEOUT,
        recheck: float = RECHECK,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """See the class."""
        self.access = access
        self.in_flight = 0
        self._alias = alias
        self._open_timeout = open_timeout
        self._recheck = recheck
        self._monotonic = monotonic
        self._secrets = secrets or Secrets()
        self._wire = Wire(access, self._secrets) if access.server.url is not None else None
        self._variables = NOTHING
        self._session: ClientSession | None = None
        self._line: Line | None = None
        self._digests: dict[str, str | None] = {}
        self._tools: list[dict[str, object]] = []
        self._listed_at: float | None = None
        self._listing = asyncio.Lock()
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._opened.add_done_callback(_looked_at)
        self._closing = asyncio.Event()
        self._expired = False
        self._task = asyncio.create_task(self._own())

    @property
    def usable(self) -> bool:
        """Whether it is open or being opened."""
        gone = self._line is not None and self._line.ended.is_set()
        return not (gone or self._task.done() or self._expired or self._closing.is_set())

    @property
    def resolved(self) -> Resolved:
        """What the server was told beside the calls; it may repeat it."""
        return self._variables if self._wire is None else self._wire.resolved

    @property
    def was_open(self) -> bool:
        """Whether there ever was a session."""
        return self._session is not None

    @property
    def over(self) -> bool:
        """Whether everything of it is gone."""
        return self._task.done()

    @property
    def in_session(self) -> bool:
        """Whether the server knows it by a session of the older protocol."""
        return self._session is not None and self._session.initialize_result is not None

    async def open(self) -> ClientSession:
        """The session, once it is open. Raises ``Unreachable``. Giving up waiting leaves it to the others who wait."""
        await asyncio.shield(self._opened)
        if self._session is None or self._line is None or self._line.ended.is_set():
            raise Unreachable("connection_lost", "the server is gone")
        return self._session

    async def digest_of(self, tool: str) -> str | None:
        """Digest of the definition that the server lists now, None where there is none. Raises ``Unreachable``."""
        await self.definitions()
        return self._digests.get(tool)

    async def definitions(self) -> list[dict[str, object]]:
        """What the server lists, as it came, at most ``recheck`` seconds old. Raises ``Unreachable``."""
        session = await self.open()
        async with self._listing:
            if self._listed_at is None or self._monotonic() - self._listed_at >= self._recheck:
                await self._list(session)
        return self._tools

    def expire(self) -> None:
        """The server has forgotten the session; the calls in flight may still be answered."""
        self._expired = True

    def retire(self) -> None:
        """Let it go once nothing is in flight."""
        self._closing.set()

    async def close(self) -> None:
        """Let it go now."""
        self._closing.set()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _own(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._open_timeout):
                    session = await self._enter(stack)
                    await self._list(session)
                self._session = session
                self._opened.set_result(None)
                await self._stay(session)
        except asyncio.CancelledError:
            self._refuse("closed", "the session was closed")
            raise
        except TimeoutError:
            self._refuse("open_timeout", f"no session within {self._open_timeout:g} s")
        except OSError as error:
            self._refuse("server_not_started", error.strerror or str(error))
        except Unreachable as error:
            self._refuse(error.code, error.detail)
        except SecretMissing as error:
            self._refuse(error.code, str(error))
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises, there is no session
            self._refuse(self._fault or "handshake_failed", self._told(error))

    async def _enter(self, stack: AsyncExitStack) -> ClientSession:
        line = await stack.enter_async_context(self._reach())
        session = ClientSession(dispatcher=line, client_info=_US, message_handler=self._hear)
        await stack.enter_async_context(session)
        self._line = line
        await _negotiate(session)
        return session

    @asynccontextmanager
    async def _reach(self) -> AsyncIterator[Line]:
        server = self.access.server
        if server.url is not None and self._wire is not None:
            async with web_line(server.url, self._wire) as line:
                yield line
            return
        self._variables = await self.access.resolved(self._secrets)
        async with stdio_transport(server.command or (), self._variables, self._alias) as (read, write):
            yield Line(read, write)

    async def _stay(self, session: ClientSession) -> None:
        assert self._line is not None  # noqa: S101 - it was entered
        waiting = [
            asyncio.create_task(self._listen(session)),
            asyncio.create_task(self._line.ended.wait()),
            asyncio.create_task(self._closing.wait()),
        ]
        try:
            await asyncio.wait(waiting[1:], return_when=asyncio.FIRST_COMPLETED)
            if not self._line.ended.is_set():
                await self._drain()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _drain(self) -> None:
        deadline = self._monotonic() + SETTLE
        while (self.in_flight or (self._wire and self._wire.carrying)) and self._monotonic() < deadline:
            await asyncio.sleep(0.05)

    async def _listen(self, session: ClientSession) -> None:
        """Hear of changed definitions from a server of the newer protocol; the older one tells unasked."""
        capabilities = session.server_capabilities
        if self.in_session or capabilities is None or capabilities.tools is None:
            return
        if not capabilities.tools.list_changed:
            return
        with suppress(MCPError, SubscriptionLost, TimeoutError):
            async with listen(session, tools_list_changed=True) as subscription:
                async for _ in subscription:
                    self._listed_at = None
        self._listed_at = None

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._listed_at = None

    async def _list(self, session: ClientSession) -> None:
        assert self._line is not None  # noqa: S101 - there is a session
        # Before it is asked: what changes meanwhile makes the answer old.
        self._listed_at = self._monotonic()
        self._line.listed.clear()
        try:
            async with asyncio.timeout(self._open_timeout):
                await _pages(session)
        except (MCPError, ValidationError, TimeoutError) as error:
            self._listed_at = None
            if self.in_session:
                self._expired = True
            raise Unreachable(self._fault or "tools_not_listed", self._told(error)) from error
        self._tools = list(self._line.listed)
        self._digests = digests(self._tools)

    @property
    def _fault(self) -> str | None:
        return None if self._wire is None else self._wire.fault

    def _told(self, error: BaseException) -> str:
        """What went wrong, which may quote what the server said."""
        while isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        return self.resolved.hide_text(f"{type(error).__name__}: {error}", LONGEST_TOLD)

    def _refuse(self, code: str, detail: str) -> None:
        if not self._opened.done():
            self._opened.set_exception(Unreachable(code, detail))


async def _negotiate(session: ClientSession) -> None:
    """Agree on a revision of the protocol: the newer one, or the older one with its handshake."""
    try:
        await session.discover()
    except (MCPError, RuntimeError, ValidationError):
        await session.initialize()


async def _pages(session: ClientSession) -> None:
    cursor: str | None = None
    for _ in range(PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        cursor = page.next_cursor
        if cursor is None:
            return


def _looked_at(opened: asyncio.Future[None]) -> None:
    """Nobody may wait for it any more; asyncio complains about errors that nobody looked at."""
    if not opened.cancelled():
        opened.exception()
