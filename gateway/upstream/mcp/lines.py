"""Messages of a stdio server: one JSON-RPC message a line, and none of them longer than we are ready to hold."""

import re
from dataclasses import dataclass

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, RequestId, jsonrpc_message_adapter

from effects.strict_json import JSONRefused, parse
from gateway.upstream.mcp.line import Odd
from gateway.upstream.mcp.passage import LARGEST_MESSAGE, PREFIX_BYTES

_ID_FIRST = re.compile(rb'\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,15})\s*,')
_ID_LAST = re.compile(rb',\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning and the end of a line that was too long."""

    head: bytes
    tail: bytes


class Lines:
    """Cuts a byte stream into lines of at most ``longest`` bytes. Of a longer one both ends are kept."""

    def __init__(self, longest: int = LARGEST_MESSAGE) -> None:
        """See the class."""
        self._longest = longest
        self._buffer = bytearray()
        self._head: bytes | None = None

    def feed(self, chunk: bytes) -> list[bytes | Cut]:
        """The lines that ``chunk`` completes, without their ends."""
        found: list[bytes | Cut] = []
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._take(end)
            found.append(self._whole())
        self._take(rest)
        return found

    def _take(self, piece: bytes) -> None:
        self._buffer += piece
        if self._head is None and len(self._buffer) > self._longest:
            self._head = bytes(self._buffer[:PREFIX_BYTES])
        if self._head is not None:
            del self._buffer[:-PREFIX_BYTES]

    def _whole(self) -> bytes | Cut:
        line = bytes(self._buffer)
        head, self._head = self._head, None
        self._buffer.clear()
        return line if head is None else Cut(head, line)


def message_of(line: bytes | Cut) -> SessionMessage | None:
    """The message that a line spells. One that is too long, or no JSON-RPC, is the answer to the request that it names;
    None: nobody knows what it belongs to."""
    if isinstance(line, Cut):
        return _odd(_id_in(line), Odd(line.head, cut=True))
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return _odd(_id_of(line), Odd(line, cut=False))


def _odd(request_id: RequestId | None, result: Odd) -> SessionMessage | None:
    if request_id is None:
        return None
    # Not validated: that would make a plain dict of it.
    return SessionMessage(JSONRPCResponse.model_construct(jsonrpc="2.0", id=request_id, result=result))


def _id_in(line: Cut) -> int | None:
    found = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
    return None if found is None else int(found[1])


def _id_of(line: bytes) -> RequestId | None:
    try:
        value = parse(line.decode())
    except (JSONRefused, UnicodeDecodeError):
        return _id_in(Cut(line[:PREFIX_BYTES], line[-PREFIX_BYTES:]))
    if not isinstance(value, dict) or "method" in value:
        return None
    found = value.get("id")
    return found if isinstance(found, int) and not isinstance(found, bool) else None
