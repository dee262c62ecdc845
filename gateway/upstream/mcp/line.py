"""The SDK's JSON-RPC dispatcher, with what a gateway must know and decide: raw results, and that nothing is cancelled."""

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio.abc
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import RequestId

from gateway.upstream.mcp.passage import CALL, PASSAGE

LIST = "tools/list"


class Line(JSONRPCDispatcher[TransportContext]):
    """``ended`` is set when the connection is over. ``listed``: raw definitions of the pages listed since it was cleared.

    A call that somebody gives up is not cancelled at the server, unless it is a read: what was sent is not called back.
    """

    def __init__(
        self, read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage]
    ) -> None:
        """See the class."""
        super().__init__(read, write)
        self.ended = asyncio.Event()
        self.listed: list[dict[str, Any]] = []

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: RequestId | None = None,
    ) -> dict[str, Any]:
        """Send a request and await its raw result; see ``JSONRPCDispatcher.send_raw_request``."""
        passage = PASSAGE.get()
        if method == CALL and passage is not None:
            params = {**(params or {}), "arguments": passage.stand_in}
            opts = {**(opts or {}), "cancel_on_abandon": passage.is_read}
        result = await super().send_raw_request(method, params, opts, _related_request_id=_related_request_id)
        if method == LIST:
            tools = result.get("tools")
            self.listed += (
                [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
            )
        if method == CALL and passage is not None:
            raise Arrived(result)
        return result

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Drive the receive loop until the connection is over."""
        try:
            await super().run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self.ended.set()


class Arrived(Exception):
    """The raw result of a call, on its way past the SDK's reading of it: what does not fit the protocol is kept too."""

    def __init__(self, result: dict[str, Any]) -> None:
        """Keep it."""
        super().__init__()
        self.result = result


class Odd(dict[str, Any]):
    """A result that is none: ``raw`` is the beginning of a message that is too large (``cut``) or no JSON-RPC."""

    def __init__(self, raw: bytes, *, cut: bool) -> None:
        """See the class."""
        super().__init__()
        self.raw = raw
        self.cut = cut
