"""How a payload is stored: canonical text, a salt, and the digest of both. The stored bytes are hashed."""

import hashlib
import os
from typing import cast

from effects.canonical import canonical, canonical_of_plain, from_canonical
from effects.strict_json import JSONRefused
from ledger.errors import UnwritableValue
from ledger.events import Payload

SALT_BYTES = 16
"""Of every salt, no more and no fewer: else bytes could move between salt and payload, and the digest would stay."""


def canonical_text(payload: Payload) -> str:
    """The payload as RFC 8785 text. Raises UnwritableValue where it is no JSON object."""
    return as_stored(payload)[0].decode()


def as_stored(payload: Payload) -> tuple[bytes, Payload]:
    """The payload as RFC 8785 text, and as it will be read back. Raises UnwritableValue where it is no JSON object."""
    plain = canonical_of_plain(payload)
    if plain is not None:
        return plain, payload
    try:
        text = canonical(dict(payload))
    except JSONRefused as error:
        raise UnwritableValue(f"a payload cannot be written: {error}") from error
    return text, parsed(text)


def parsed(text: str | bytes) -> Payload:
    """The payload that ``canonical_text`` wrote."""
    return cast(Payload, from_canonical(text))


def fresh_salt() -> bytes:
    """Random bytes: without them the digest of a redacted payload could be guessed from likely payloads."""
    try:
        return _salts.pop()
    except IndexError:
        drawn = os.urandom(SALT_BYTES * _DRAWN)
        _salts.extend(drawn[at : at + SALT_BYTES] for at in range(SALT_BYTES, len(drawn), SALT_BYTES))
        return drawn[:SALT_BYTES]


# Drawn ahead, each given once; a child process must not give what its parent gives too.
_DRAWN = 256
_salts: list[bytes] = []
os.register_at_fork(after_in_child=_salts.clear)


def payload_digest(salt: bytes, text: str | bytes) -> bytes:
    """SHA-256 of the salt followed by the payload's UTF-8 bytes."""
    return hashlib.sha256(salt + (text.encode() if isinstance(text, str) else text)).digest()
