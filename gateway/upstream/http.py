"""Tools over HTTP: a POST of the arguments exactly as they were accepted (interface.md, "Tools (upstreams)").

Before the first byte of the request is written a failure means NotSent, from then on MaybeSent. That line is drawn by
the transport's own report (the ``trace`` extension), not by the kind of the exception.
"""

import asyncio

import httpx2

from effects.classes import EffectClass
from effects.intent import ResultStatus
from effects.outbound import Outbound
from gateway.failpoints import FailPoint, reached
from gateway.turn.dispatching import Assignment
from gateway.upstream.content import content_of, refused_in, truncated
from gateway.upstream.faults import fault_code, is_unclear
from gateway.upstream.guarded import ADDRESS_REFUSED, guarded_client, was_refused
from gateway.upstream.port import Answered, Layer, MaybeSent, NotSent, Reply
from gateway.upstream.secrets import EVERYTHING, NOTHING, SECRET_MISSING, SecretMissing, Secrets
from gateway.upstream.trace import fresh_traceparent

CONNECT_TIMEOUT = 5.0


class HttpUpstream:
    """Sends calls by HTTP/1.1. Redirects, cookies and the environment's proxies are ignored.

    Only reads travel on kept-alive connections: on one that the server has just closed nobody can tell whether a
    request arrived. Answers larger than the tool's ``max_result`` are cut; they count as answers. ``connect_timeout``
    in seconds, never longer than the call's own. ``secrets``: what headers may refer to. Use it from one event loop at a time.
    """

    def __init__(self, *, connect_timeout: float = CONNECT_TIMEOUT, secrets: Secrets = EVERYTHING) -> None:
        """See the class."""
        self._connect_timeout = connect_timeout
        self._secrets = secrets
        self._clients: dict[tuple[bool, Outbound], httpx2.AsyncClient] = {}

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        """Transmit once; see ``Upstream.send``."""
        if call.effect is not EffectClass.READ_ONLY and call.idempotency_key is None:
            return NotSent("no_idempotency_key", lasting=True)
        if call.upstream.http is None:
            return NotSent("not_an_http_tool", lasting=True)
        progress = _Progress()
        try:
            async with asyncio.timeout(timeout):
                return await self._exchange(call, progress)
        except TimeoutError:
            return progress.failed("timeout")
        except SecretMissing as error:
            return NotSent(SECRET_MISSING, str(error), lasting=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, what counts is whether it was sent
            if was_refused(error):
                return NotSent(ADDRESS_REFUSED, lasting=True)
            return progress.failed(fault_code(error))

    async def aclose(self) -> None:
        """Close every client; see ``Upstream.aclose``."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _exchange(self, call: Assignment, progress: "_Progress") -> Reply:
        resolved = NOTHING
        if call.upstream.headers:
            resolved = await asyncio.to_thread(self._secrets.resolve, call.tenant, call.upstream.headers)
        client = self._client(call)
        limits = httpx2.Timeout(None, connect=min(self._connect_timeout, call.timeout))
        request = client.build_request(
            "POST",
            call.upstream.http or "",
            content=call.arguments_raw.encode(),
            headers={**resolved.values, **_headers(call)},
            timeout=limits,
            extensions={"trace": progress.trace},
        )
        response = await client.send(request, stream=True)
        try:
            if is_unclear(response.status_code):
                return MaybeSent(f"http_{response.status_code}")
            body, whole = await _body(response, call.max_result)
            return _answer(response.status_code, resolved.hide(body, cut=not whole), whole, call.max_result)
        finally:
            await response.aclose()

    def _client(self, call: Assignment) -> httpx2.AsyncClient:
        # Connections that one table allowed must not serve another's calls.
        kind = (call.effect is EffectClass.READ_ONLY, call.outbound)
        client = self._clients.get(kind)
        if client is None:
            client = self._clients[kind] = _client(call.outbound, keep_alive=kind[0])
        return client


class _Progress:
    """Whether the transport has begun to write the request."""

    def __init__(self) -> None:
        self._begun = False

    async def trace(self, name: str, _info: object) -> None:
        if name.endswith(".send_request_headers.started"):
            self._begun = True
        elif name.endswith(".send_request_headers.complete"):
            reached(FailPoint.REQUEST_PARTLY_WRITTEN)
        elif name.endswith(".send_request_body.complete"):
            reached(FailPoint.REQUEST_WRITTEN)

    def failed(self, because: str) -> NotSent | MaybeSent:
        return MaybeSent(because) if self._begun else NotSent(because)


def _client(outbound: Outbound, *, keep_alive: bool) -> httpx2.AsyncClient:
    # How many calls run at once is the dispatcher's to limit.
    headers = {"User-Agent": "commitgate", "Accept": "application/json", "Accept-Encoding": "identity"}
    headers = headers if keep_alive else headers | {"Connection": "close"}
    return guarded_client(outbound, headers=headers, keep_alive=keep_alive)


def _headers(call: Assignment) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Commit-Key": call.commit_key,
        "Intent-Id": call.intent_id,
        "traceparent": call.traceparent or fresh_traceparent(),
    }
    if call.effect is not EffectClass.READ_ONLY and call.idempotency_key is not None:
        headers["Idempotency-Key"] = call.idempotency_key
    return headers


async def _body(response: httpx2.Response, limit: int) -> tuple[bytes, bool]:
    """As much of the body as is taken, and whether that is all of it."""
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > limit:
            return bytes(body), False
    return bytes(body), True


def _answer(status: int, body: bytes, whole: bool, limit: int) -> Answered:
    content = content_of(body) if whole else truncated(body, limit)
    if status >= 300:
        said = {"http_status": status} if content is None else content
        return Answered(ResultStatus.TOOL_ERROR, said, Layer.TOOL)
    layer = refused_in(content)
    if layer is not None:
        return Answered(ResultStatus.TOOL_ERROR, content, layer)
    return Answered(ResultStatus.OK, content)
