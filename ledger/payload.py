"""How a payload is stored: canonical text, a salt, and the digest of both. The stored bytes are hashed."""

import hashlib
import secrets
from typing import cast

from effects.canonical import canonical, from_canonical
from effects.strict_json import JSONRefused
from ledger.errors import UnwritableValue
from ledger.events import Payload

SALT_BYTES = 16


def canonical_text(payload: Payload) -> str:
    """The payload as RFC 8785 text. Raises UnwritableValue where it is no JSON object."""
    try:
        return canonical(dict(payload)).decode()
    except JSONRefused as error:
        raise UnwritableValue(f"a payload cannot be written: {error}") from error


def parsed(text: str) -> Payload:
    """The payload that ``canonical_text`` wrote."""
    return cast(Payload, from_canonical(text))


def fresh_salt() -> bytes:
    """Random bytes: without them the digest of a redacted payload could be guessed from likely payloads."""
    return secrets.token_bytes(SALT_BYTES)


def payload_digest(salt: bytes, text: str) -> bytes:
    """SHA-256 of the salt followed by the payload's UTF-8 bytes."""
    return hashlib.sha256(salt + text.encode()).digest()
