"""Tools of MCP servers behind the upstream port (interface.md, "Tools (upstreams)").

Whatever fails before the ``tools/call`` request is written - no process, no session, a changed definition - means
NotSent; from the first byte on, MaybeSent. A call is written once: neither the SDK's recovery from stale schemas nor a
redirect repeats it, and a server's questions (sampling, elicitation, roots) are refused.
"""

import asyncio
import time
from collections.abc import Callable
from typing import cast

from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult, RequestParamsMeta

from effects.classes import EffectClass
from effects.strict_json import JSONRefused, parse
from effects.upstream import Server
from gateway.turn.dispatching import Assignment
from gateway.upstream.mcp.access import Access
from gateway.upstream.mcp.answer import of_error, of_result, unclear
from gateway.upstream.mcp.connection import OPEN_TIMEOUT, RECHECK, Connection, Unreachable
from gateway.upstream.mcp.definitions import CHANGED, Quarantine
from gateway.upstream.mcp.line import Arrived
from gateway.upstream.mcp.passage import PASSAGE, Passage
from gateway.upstream.port import NotSent, Reply
from gateway.upstream.secrets import Secrets
from gateway.upstream.trace import fresh_traceparent

COMMIT_KEY = "commitgate/commit_key"
INTENT_ID = "commitgate/intent_id"
IDEMPOTENCY_KEY = "commitgate/idempotency_key"

LINGER = 60.0
"""Seconds beyond the timeout for which the request of an abandoned call is kept open."""


class McpUpstream:
    """Sends calls to MCP servers; one session for each tenant and server, opened at the first call and again when needed.

    ``quarantine``: learns which tools are not called because their definition changed. ``secrets``: what a server's headers
    and variables may refer to. ``open_timeout``, ``recheck``: seconds, see ``Connection``. Use it from one event loop at a time.
    """

    def __init__(
        self,
        quarantine: Quarantine | None = None,
        *,
        secrets: Secrets | None = None,
        open_timeout: float = OPEN_TIMEOUT,
        recheck: float = RECHECK,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """See the class."""
        self.quarantine = quarantine or Quarantine()
        self._secrets = secrets or Secrets()
        self._open_timeout = open_timeout
        self._recheck = recheck
        self._monotonic = monotonic
        self._current: dict[tuple[str, str], Connection] = {}
        self._all: set[Connection] = set()

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        """Transmit once; see ``Upstream.send``."""
        if call.upstream.mcp is None or call.server is None:
            return NotSent("not_an_mcp_tool", lasting=True)
        if call.effect is not EffectClass.READ_ONLY and call.idempotency_key is None:
            return NotSent("no_idempotency_key", lasting=True)
        is_read = call.effect is EffectClass.READ_ONLY
        passage = Passage(call.arguments_raw, is_read, None if timeout is None else timeout + LINGER)
        try:
            async with asyncio.timeout(timeout):
                return await self._exchange(call, call.upstream.mcp, call.server, passage)
        except TimeoutError:
            return unclear(passage, "timeout")
        except Exception as error:  # noqa: BLE001 - whatever it is, what counts is whether it was sent
            return unclear(passage, f"failed_{type(error).__name__.lower()}")

    async def aclose(self) -> None:
        """End every session, and every process that was started for one; see ``Upstream.aclose``."""
        connections, self._all = self._all, set()
        self._current.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _exchange(self, call: Assignment, alias: str, server: Server, passage: Passage) -> Reply:
        arguments = _arguments(call.arguments_raw)
        if arguments is None:
            return NotSent("arguments_refused", lasting=True)
        place, access = (call.tenant, alias), Access.to(server, call.tenant, call.outbound)
        tool = call.upstream.tool or call.tool
        try:
            # Half of the tool's time, so that a server that does not open is known not to have the call.
            async with asyncio.timeout(min(self._open_timeout, call.timeout / 2)):
                connection, session, found = await self._ready(place, access, tool)
        except Unreachable as error:
            return NotSent(error.code, error.detail, lasting=error.lasting)
        except TimeoutError:
            return NotSent("open_timeout", "no session in time")
        seen = self.quarantine.judge(place, tool, found, server.pins)
        if seen is not None:
            return NotSent(CHANGED, seen.told, lasting=True)
        params = CallToolRequestParams(name=tool, arguments=arguments, _meta=_meta(call))
        connection.in_flight += 1
        try:
            return await _call(call, connection, session, CallToolRequest(params=params), passage)
        finally:
            connection.in_flight -= 1

    async def _ready(
        self, place: tuple[str, str], access: Access, tool: str
    ) -> tuple[Connection, ClientSession, str | None]:
        """A session and the tool's digest in it. One that turns out to be over is replaced once: nothing is sent yet."""
        connection = self._connection(place, access)
        try:
            return connection, await connection.open(), await connection.digest_of(tool)
        except Unreachable:
            if connection.usable or self._is_new(connection):
                raise
        connection = self._connection(place, access)
        return connection, await connection.open(), await connection.digest_of(tool)

    def _connection(self, place: tuple[str, str], access: Access) -> Connection:
        known = self._current.get(place)
        if known is not None and known.usable and known.access == access:
            return known
        if known is not None:
            known.retire()
        self._all = {connection for connection in self._all if not connection.over}
        made = Connection(
            access,
            alias=place[1],
            secrets=self._secrets,
            open_timeout=self._open_timeout,
            recheck=self._recheck,
            monotonic=self._monotonic,
        )
        self._current[place] = made
        self._all.add(made)
        return made

    @staticmethod
    def _is_new(connection: Connection) -> bool:
        """Whether it never was open: to open another one at once would come to the same."""
        return not connection.was_open


async def _call(
    call: Assignment,
    connection: Connection,
    session: ClientSession,
    request: CallToolRequest,
    passage: Passage,
) -> Reply:
    entered = PASSAGE.set(passage)
    try:
        await session.send_request(request, CallToolResult)
    except Arrived as arrived:
        return of_result(call, arrived.result, connection.resolved)
    except MCPError as error:
        in_session = connection.in_session
        if passage.status == 404 and in_session:
            connection.expire()
        return of_error(call, passage, error.error, connection.resolved, in_session=in_session)
    finally:
        PASSAGE.reset(entered)
    return unclear(passage, "failed_unread")


def _arguments(raw: str) -> dict[str, object] | None:
    try:
        value = parse(raw)
    except JSONRefused:
        return None
    return dict(value) if isinstance(value, dict) else None


def _meta(call: Assignment) -> RequestParamsMeta:
    meta: dict[str, object] = {
        "traceparent": call.traceparent or fresh_traceparent(),
        COMMIT_KEY: call.commit_key,
        INTENT_ID: call.intent_id,
    }
    if call.effect is not EffectClass.READ_ONLY and call.idempotency_key is not None:
        meta[IDEMPOTENCY_KEY] = call.idempotency_key
    return cast(RequestParamsMeta, meta)
