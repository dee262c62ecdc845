"""An MCP server over streamable HTTP: the SDK's transport on an HTTP client that we watch.

Under the SDK one broken connection ends the session with all calls in flight, and a redirect sends a call twice. So what
breaks here is noted on the call's ``Passage`` and looks to the SDK like an answer that says no.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from effects.outbound import host_of
from effects.strict_json import JSONRefused, parse
from gateway.upstream.faults import fault_code, is_unclear
from gateway.upstream.guarded import ADDRESS_REFUSED, GuardedTransport, client_over, was_refused
from gateway.upstream.http import CONNECT_TIMEOUT
from gateway.upstream.mcp.access import Access
from gateway.upstream.mcp.line import Line
from gateway.upstream.mcp.passage import CALL, LARGEST_MESSAGE, PASSAGE, PREFIX_BYTES, Passage
from gateway.upstream.secrets import NOTHING, SecretMissing, Secrets

OPENING: Final = httpx2.Timeout(15.0, connect=CONNECT_TIMEOUT)
LISTENING: Final = httpx2.Timeout(None, connect=CONNECT_TIMEOUT)
GOODBYE: Final = httpx2.Timeout(1.0)

Closed = Callable[[], None]


class Wire(httpx2.AsyncBaseTransport):
    """Carries the requests of one session. Only reads travel on kept-alive connections (design.md, "Dispatch").

    ``carrying``: calls whose answer is still to come. ``fault``: code of what went wrong last beside the calls.
    ``resolved``: the headers of the last request that the table asked for.
    """

    def __init__(self, access: Access, secrets: Secrets) -> None:
        """See the class."""
        self.carrying = 0
        self.fault: str | None = None
        self.resolved = NOTHING
        self._access = access
        self._secrets = secrets
        hosts = (host_of(access.server.url or ""),)
        self._kept = GuardedTransport(access.outbound, hosts=hosts, keep_alive=True)
        self._fresh = GuardedTransport(access.outbound, hosts=hosts, keep_alive=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry one request; see the class. A POST never raises."""
        passage = PASSAGE.get()
        try:
            await self._dress(request)
        except SecretMissing as error:
            self.fault = error.code
            if passage is not None:
                passage.fault = error.code
            return _no(502)
        if request.method == "POST":
            if passage is not None and _is_call(request):
                return await self._call(request, passage)
            return await self._other(request)
        if request.method == "DELETE":
            # Ending the session could end what it does.
            return _no(405) if self.carrying else await self._carry(self._fresh, request, GOODBYE)
        if passage is not None and passage.cut:
            return _no(502)
        return await self._carry(self._kept, request, LISTENING)

    async def aclose(self) -> None:
        """Close both pools."""
        await self._kept.aclose()
        await self._fresh.aclose()

    async def _dress(self, request: httpx2.Request) -> None:
        """Put the table's headers beside the protocol's own, which win. Followed anew each time: secrets change."""
        if not self._access.server.headers:
            return
        self.resolved = await self._access.resolved(self._secrets)
        for name, value in self.resolved.values.items():
            if name not in request.headers or name.lower() == "user-agent":
                request.headers[name] = value

    async def _carry(
        self, pool: GuardedTransport, request: httpx2.Request, timeout: httpx2.Timeout
    ) -> httpx2.Response:
        request.extensions = {**request.extensions, "timeout": timeout.as_dict()}
        response = await pool.handle_async_request(request)
        if response.is_redirect:
            await response.aclose()
            self.fault = f"http_{response.status_code}"
            return _no(502)
        return response

    async def _other(self, request: httpx2.Request) -> httpx2.Response:
        timeout = LISTENING if _listens(request) else OPENING
        try:
            response = await self._carry(self._kept, request, timeout)
            if _is_events(response):
                return response
            body, whole = await _bounded(response, bytearray())
        except Exception as error:  # noqa: BLE001 - raised further, it would end every call of the session
            self.fault = _fault(error)
            return _no(502)
        if response.status_code >= 400:
            self.fault = f"http_{response.status_code}"
        return _answer(response, bytes(body)) if whole else _no(502)

    async def _call(self, request: httpx2.Request, passage: Passage) -> httpx2.Response:
        if passage.begun or passage.fault is not None:
            passage.fault = passage.fault or "sent_twice"
            return _no(502)
        self.carrying += 1
        try:
            response = await self._send(request, passage)
        except BaseException as error:
            self.carrying -= 1
            if not isinstance(error, Exception):
                raise
            passage.fault = _fault(error)
            return _no(502)
        if not isinstance(response.stream, _Events):
            self.carrying -= 1
        return response

    async def _send(self, request: httpx2.Request, passage: Passage) -> httpx2.Response:
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        if not passage.is_read:
            headers.append((b"Connection", b"close"))
        spelled = httpx2.Request(
            request.method,
            request.url,
            headers=headers,
            content=passage.spell(request.content),
            extensions={
                **request.extensions,
                "trace": passage.trace,
                "timeout": httpx2.Timeout(passage.longest, connect=CONNECT_TIMEOUT).as_dict(),
            },
        )
        pool = self._kept if passage.is_read else self._fresh
        response = await pool.handle_async_request(spelled)
        passage.status = response.status_code
        if is_unclear(response.status_code):
            await response.aclose()
            return _no(502)
        if _is_events(response) and response.is_success:
            passage.is_stream = True
            stream = _Events(response, passage, self._arrived)
            return httpx2.Response(response.status_code, headers=response.headers, stream=stream)
        _, whole = await _bounded(response, passage.body)
        if not whole:
            passage.cut = True
            return _no(502)
        return _answer(response, bytes(passage.body))

    def _arrived(self) -> None:
        self.carrying -= 1


class _Events(httpx2.AsyncByteStream):
    """The stream of events that answers a call. No event is longer than the longest message."""

    def __init__(self, response: httpx2.Response, passage: Passage, closed: Closed) -> None:
        self._response = response
        self._passage = passage
        self._closed: Closed | None = closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for chunk in self._response.aiter_raw():
            end = max(chunk.rfind(b"\n\n"), chunk.rfind(b"\r\n\r\n"))
            length = len(chunk) - end if end >= 0 else length + len(chunk)
            room = PREFIX_BYTES - len(self._passage.body)
            self._passage.body += chunk[: max(room, 0)]
            self._passage.tail += chunk[-PREFIX_BYTES:]
            del self._passage.tail[:-PREFIX_BYTES]
            if length > LARGEST_MESSAGE:
                self._passage.cut = True
                raise httpx2.ReadError("an event is too large")
            yield chunk

    async def aclose(self) -> None:
        closed, self._closed = self._closed, None
        if closed is not None:
            closed()
        await self._response.aclose()


@asynccontextmanager
async def web_line(url: str, wire: Wire) -> AsyncIterator[Line]:
    """A line to the server at ``url``. Nothing is sent yet."""
    headers = {"User-Agent": "commitgate", "Accept-Encoding": "identity"}
    async with (
        client_over(wire, headers=headers, timeout=OPENING) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_MESSAGE) as (read, write),
    ):
        yield Line(read, write)


def _fault(error: Exception) -> str:
    return ADDRESS_REFUSED if was_refused(error) else fault_code(error)


def _is_call(request: httpx2.Request) -> bool:
    return _method(request) == CALL


def _listens(request: httpx2.Request) -> bool:
    return _method(request) == "subscriptions/listen"


def _method(request: httpx2.Request) -> object:
    try:
        message = parse(request.content.decode())
    except (JSONRefused, UnicodeDecodeError):
        return None
    return message.get("method") if isinstance(message, dict) else None


def _is_events(response: httpx2.Response) -> bool:
    return str(response.headers.get("content-type", "")).lower().startswith("text/event-stream")


async def _bounded(response: httpx2.Response, body: bytearray) -> tuple[bytearray, bool]:
    """As much of the body as is taken, and whether that is all of it."""
    try:
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > LARGEST_MESSAGE:
                return body, False
        return body, True
    finally:
        await response.aclose()


def _answer(response: httpx2.Response, body: bytes) -> httpx2.Response:
    skipped = (b"content-length", b"transfer-encoding")
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in skipped]
    return httpx2.Response(response.status_code, headers=headers, content=body)


def _no(status: int) -> httpx2.Response:
    return httpx2.Response(status)
