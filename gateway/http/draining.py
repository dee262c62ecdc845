"""Answers that come before the body was read: what is left of it is read too, so that the client lives to see them.

A server that closes a connection while bytes lie unread resets it (RFC 9112, section 9.6), and a client that still writes
sees the reset and not the answer.
"""

import asyncio

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEFT_BYTES = 64 * 1024 * 1024
"""How much is read of a body that nobody wants."""

LEFT_SECONDS = 5.0
"""For how long."""


class Draining:
    """ASGI middleware: the answer goes out at once; it ends when the body is read to its end, or to a bound."""

    def __init__(
        self, app: ASGIApp, left_bytes: int = LEFT_BYTES, left_seconds: float = LEFT_SECONDS
    ) -> None:
        self._app = app
        self._left_bytes = left_bytes
        self._left_seconds = left_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or not _comes_by_itself(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        body = _Body(receive)
        declared = int(Headers(scope=scope).get("content-length", "0")[:20])

        async def answer(message: Message) -> None:
            if not body.ended and message["type"] == "http.response.start":
                if not 0 < declared <= self._left_bytes:
                    # Whatever comes behind the bound is not read, so nothing can follow on this connection.
                    message.setdefault("headers", [])
                    MutableHeaders(scope=message)["Connection"] = "close"
            elif not body.ended and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await body.drain(self._left_bytes, self._left_seconds)
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        await self._app(scope, body.receive, answer)


class _Body:
    """A request's body as it is received. ``ended``: nothing of it is left, or nobody sends it any more."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            self.ended = True
        return message

    async def drain(self, most: int, seconds: float) -> None:
        """Read on to the end, or until so many bytes came or so much time passed."""
        try:
            async with asyncio.timeout(seconds):
                while not self.ended and most > 0:
                    most -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return


def _comes_by_itself(headers: Headers) -> bool:
    """Whether a body comes, and without being asked for first (``Expect: 100-continue``)."""
    if headers.get("expect", "").lower() == "100-continue":
        return False
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0").isdecimal()
