"""One call on its way through the SDK: what was written of it, and what came back.

The SDK answers a caller with one kind of error for what the server said and for what the transport made up, and it does
not say whether a request was written. So each call carries a ``Passage`` along in a context variable; the transports of
this package, at the far end of the SDK, note on it what happened.
"""

import json
import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field

from effects.tool import LARGEST_MAX_RESULT
from gateway.failpoints import FailPoint, reached

CALL = "tools/call"

LARGEST_MESSAGE = LARGEST_MAX_RESULT + (1 << 20)
"""Bytes of one message of a server that are read; what is longer is cut."""

PREFIX_BYTES = 4096
"""How much of an answer is kept that is too large or cannot be read."""


@dataclass(slots=True, weakref_slot=True, eq=False)
class Passage:
    """``arguments_raw``: the accepted bytes, which are sent as they are. ``longest``: seconds for which the transport
    keeps a request open that nobody waits for any more (None: for ever).

    ``begun``: from here on the server may have the call. ``status``, ``body``: the HTTP answer, as far as it was read;
    ``tail``: the end of a stream of events. ``refused``: a JSON-RPC error came for it over a pipe.
    ``cut``: it was too large. ``fault``: code of what broke the exchange.
    """

    arguments_raw: str
    is_read: bool
    longest: float | None = None
    begun: bool = False
    status: int | None = None
    body: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    refused: bool = False
    is_stream: bool = False
    cut: bool = False
    fault: str | None = None
    _stand_in: str = field(default_factory=lambda: f"arguments-{uuid.uuid4()}")

    @property
    def stand_in(self) -> str:
        """What stands for the arguments while the SDK writes the request."""
        return self._stand_in

    def spell(self, request: bytes) -> bytes:
        """``request`` with the accepted bytes where the stand-in is; a line break between tokens becomes a blank, for
        stdio ends a message there."""
        raw = self.arguments_raw.replace("\r", " ").replace("\n", " ")
        return request.replace(json.dumps(self._stand_in).encode(), raw.encode(), 1)

    async def trace(self, name: str, _info: object) -> None:
        """Hear from the HTTP transport that it begins to write."""
        if name.endswith(".send_request_headers.started"):
            self.begun = True
        elif name.endswith(".send_request_headers.complete"):
            reached(FailPoint.REQUEST_PARTLY_WRITTEN)
        elif name.endswith(".send_request_body.complete"):
            reached(FailPoint.REQUEST_WRITTEN)


PASSAGE: ContextVar[Passage | None] = ContextVar("passage", default=None)
"""The call on whose behalf this runs."""
