"""Bodies: read in pieces up to a limit, UTF-8, one strict JSON text, and only then a shape."""

import re
from typing import TypeVar

from fastapi import Request as HttpRequest
from pydantic import ValidationError

from effects.strict_json import JSONRefused, JSONValue, parse
from gateway.errors import InvalidText, MalformedJSON, RefusedJSON, TooLarge, UnsupportedMediaType
from gateway.http.problems import invalid_request
from gateway.wire.base import Request

JSON = "application/json"
YAML = "application/yaml"

_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s;\"]+)", re.IGNORECASE)
B = TypeVar("B", bound=Request)


async def read_body(request: HttpRequest, limit: int, *types: str) -> bytes:
    """The exact bytes of the body. Raises ``UnsupportedMediaType`` unless it comes as one of ``types``, ``TooLarge``."""
    media_type(request, *types)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise _too_large(limit)
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"a body has at most {limit} bytes", limit=limit)


def media_type(request: HttpRequest, *types: str) -> str:
    """The one of ``types`` that the body comes as, in UTF-8 and not compressed. Raises ``UnsupportedMediaType``."""
    header = request.headers.get("content-type", "")
    given = header.partition(";")[0].strip().lower()
    charset = _CHARSET.search(header)
    if given not in types:
        raise UnsupportedMediaType(f"the body must come as {' or '.join(types)}")
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8"):
        raise UnsupportedMediaType("the body must be UTF-8")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("a compressed body is not read")
    return given


def text_of(raw: bytes) -> str:
    """The body as text. Raises ``InvalidText`` for invalid UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidText(f"the body is not UTF-8 at byte {error.start}") from None


def json_of(raw: bytes) -> JSONValue:
    """The JSON value of the body. Raises ``MalformedJSON``, ``InvalidText`` (also NUL in a string), ``RefusedJSON``."""
    try:
        value = parse(text_of(raw))
    except JSONRefused as error:
        if error.code == "json_syntax":
            raise MalformedJSON(error.detail) from None
        if error.code == "json_surrogate":
            raise InvalidText(error.detail) from None
        raise RefusedJSON(error.code, error.detail) from None
    refuse_nul(value)
    return value


def refuse_nul(value: JSONValue) -> None:
    """Raise ``InvalidText`` if any string or name in ``value`` holds NUL, which the ledger cannot keep."""
    left: list[JSONValue] = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(item)
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
        elif isinstance(item, str) and "\0" in item:
            raise InvalidText("a string holds the character NUL")


def model_of(model: type[B], value: JSONValue) -> B:
    """``value`` in the shape of ``model``. Raises ``InvalidRequest``, which lists what does not fit."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid_request(error.errors(include_url=False, include_input=False)) from None
