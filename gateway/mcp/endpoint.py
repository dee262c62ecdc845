"""``/mcp``: the streamable HTTP endpoint. What it takes is strict JSON from a known caller; the rest is the SDK's."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import GatewayError, MalformedJSON
from gateway.http.body import JSON, json_of, read_body
from gateway.http.caller import Call
from gateway.http.problems import Trouble, problem_of, response
from gateway.mcp.server import CALL, mcp_server
from ledger.errors import LedgerError

PATH = "/mcp"

CallOf = Callable[[Request], Awaitable[Call]]
"""Who sends a request, and what is called. Raises ``Unauthorised``, ``Forbidden``."""


class McpEndpoint:
    """The ASGI application at ``/mcp``; it serves while ``running`` is entered. ``body_limit``: bytes of a request.

    ``Host`` and ``Origin`` are for ``gateway.http.guard``, which stands before it.
    """

    def __init__(self, call_of: CallOf, body_limit: int, version: str) -> None:
        """See the class."""
        self._call_of = call_of
        self._body_limit = body_limit
        self._version = version
        self._serve: ASGIApp | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the block runs. May be entered again after it."""
        manager = StreamableHTTPSessionManager(
            mcp_server(self._version),
            stateless=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=self._body_limit,
        )
        async with manager.run():
            self._serve = manager.handle_request
            try:
                yield
            finally:
                self._serve = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._serve is None:
            raise RuntimeError("the endpoint is not running")
        request = Request(scope, receive)
        try:
            call = await self._call_of(request)
            body = await self._checked(request)
        except ClientDisconnect:
            return
        except (GatewayError, LedgerError) as error:
            await _refusal(request, error)(scope, receive, send)
            return
        scope[CALL] = call
        await self._serve(scope, receive if body is None else _again(body, receive), send)

    async def _checked(self, request: Request) -> bytes | None:
        """The body of a POST, which is strict JSON: what two names or a lost digit would hide is refused before it is read."""
        if request.method != "POST":
            return None
        body = await read_body(request, self._body_limit, JSON)
        json_of(body)
        return body


def _again(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def give() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def _refusal(request: Request, error: Exception) -> Response:
    trouble = problem_of(error)
    if request.method != "POST" or trouble.status in (401, 403):
        return response(trouble)
    return Response(_envelope(error, trouble), trouble.status, media_type=JSON)


def _envelope(error: Exception, trouble: Trouble) -> str:
    number = PARSE_ERROR if isinstance(error, MalformedJSON) else INVALID_REQUEST
    problem = {"code": number, "message": trouble.detail, "data": {"code": trouble.code}}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": problem})
