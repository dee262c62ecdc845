"""Which bytes each id of a tokenizer spells, read from its serialised form (``tokenizer.json``)."""

import json
import re
from collections.abc import Callable, Mapping

from decoding.errors import ModelRefused

_BYTE_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def pieces_of(serialised: str, vocabulary: Mapping[str, int]) -> tuple[bytes, ...]:
    """The bytes of every id; ids that no token has spell nothing.

    ``serialised``: the tokenizer's JSON. ``vocabulary``: all tokens, added ones included, with their ids.
    Raises ``ModelRefused`` (``tokenizer_not_supported``) where ids do not spell bytes of their own.
    """
    described = json.loads(serialised)
    spell = _speller(described.get("decoder"))
    added = {entry["id"]: entry["content"] for entry in described.get("added_tokens", [])}
    pieces = [b""] * (max(vocabulary.values()) + 1)
    for token, token_id in vocabulary.items():
        pieces[token_id] = added[token_id].encode() if token_id in added else spell(token)
    return tuple(pieces)


def _speller(decoder: object) -> Callable[[str], bytes]:
    """How the decoder turns one token into bytes."""
    kinds = _kinds(decoder)
    if kinds == ["ByteLevel"]:
        return _byte_level
    if kinds == ["Metaspace"] or (kinds[:1] == ["Replace"] and "ByteFallback" in kinds):
        return _metaspace
    raise ModelRefused(
        f"a tokenizer with decoder {kinds or 'none'} does not spell token by token",
        code="tokenizer_not_supported",
    )


def _kinds(decoder: object) -> list[str]:
    if not isinstance(decoder, Mapping):
        return []
    if decoder.get("type") == "Sequence":
        return [kind for inner in decoder.get("decoders", []) for kind in _kinds(inner)]
    return [str(decoder.get("type"))]


def _byte_level(token: str) -> bytes:
    return b"".join(bytes([_BYTE_OF[letter]]) if letter in _BYTE_OF else letter.encode() for letter in token)


def _metaspace(token: str) -> bytes:
    fallback = _BYTE_FALLBACK.fullmatch(token)
    if fallback:
        return bytes([int(fallback[1], 16)])
    return token.replace("\u2581", " ").encode()


def _letters() -> dict[str, int]:
    """The alphabet of byte-level BPE: printable Latin-1 stands for itself, the other bytes from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_BYTE_OF = _letters()
