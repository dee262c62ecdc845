"""What a tool answered, as a JSON value that the ledger can keep. Nothing is repaired; what does not parse is kept raw."""

import base64

from effects.strict_json import JSONRefused, parse
from gateway.upstream.port import Layer

TOO_LARGE = "result_too_large"
"""Code of an answer that was cut."""

PREFIX_BYTES = 4096
"""How much of an answer that is too large is kept."""


def content_of(body: bytes) -> object:
    """The value that ``body`` spells as strict JSON; None if it is empty.

    Anything else: ``{"raw": text}``, or ``{"raw_base64": ...}`` where it is not UTF-8.
    """
    if not body:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"raw_base64": base64.b64encode(body).decode()}
    try:
        return parse(text)
    except JSONRefused:
        return {"raw": text}


def truncated(body: bytes, limit: int) -> dict[str, object]:
    """What is kept of an answer of more than ``limit`` bytes, of which ``body`` is the beginning."""
    prefix = body[:PREFIX_BYTES]
    return {
        "truncated": True,
        "because": TOO_LARGE,
        "limit_bytes": limit,
        "raw_base64": base64.b64encode(prefix).decode(),
    }


def refused_in(content: object) -> Layer | None:
    """Where an answer that the transport calls good says no after all: a JSON-RPC error, or ``isError`` of a tool, plain
    or as a JSON-RPC result. None: it does not.
    """
    if not isinstance(content, dict):
        return None
    if content.get("jsonrpc") == "2.0":
        if isinstance(content.get("error"), dict):
            return Layer.PROTOCOL
        result = content.get("result")
        return Layer.TOOL if isinstance(result, dict) and result.get("isError") is True else None
    return Layer.TOOL if content.get("isError") is True else None
