"""Idempotency keys: one per accepted call, never before acceptance (design.md, "Effect classes at the gate").

The sketch in tool-call-side-effects.md compares the key with the commit key; two idempotent calls of one
turn would then collapse into one. Here the key names the call: it is made from the accepted bytes, so it
cannot be known earlier.
"""

import hashlib
import re
from base64 import b32encode

from effects.canonical import canonical

PREFIX = "cg1-"
"""Names the recipe below. Another recipe gets another prefix: tools remember keys longer than a release
lives.
"""

_SHA256 = re.compile(r"[0-9a-f]{64}")


def idempotency_key(
    *,
    tenant: str,
    commit_key: str,
    branch: str,
    byte_start: int,
    ordinal: int,
    block_sha256: str,
    tool: str,
    arguments: bytes,
) -> str:
    """The key under which a tool may recognise a call that it has seen: 56 characters of ``a-z2-7-``,
    ``cg1-`` first.

    ``byte_start``: byte offset of the block's opening delimiter in the accepted text of the branch.
    ``ordinal``: place of the call in its block. ``block_sha256``: 64 lower-case hex digits, SHA-256 of the
    accepted UTF-8 bytes of the branch from 0 through the block's closing delimiter. ``arguments``: their
    canonical JSON (``effects.canonical``).

    Equal for equal components only, however the text was cut into tokens. The digest is SHA-256 over the
    canonical JSON array of the prefix and the components in the order of the signature, in base32 of RFC
    4648, lower case, unpadded: short enough for tools that keep 64 characters, safe where letters lose their
    case.

    Raises ValueError for a negative number, a ``block_sha256`` of another form, or ``arguments`` that are no
    UTF-8; ``JSONRefused`` for a lone surrogate in a name or a number that JSON does not carry.
    """
    if byte_start < 0 or ordinal < 0:
        raise ValueError("byte_start and ordinal count from 0")
    if not _SHA256.fullmatch(block_sha256):
        raise ValueError("block_sha256 is 64 lower-case hex digits")
    parts = [PREFIX, tenant, commit_key, branch, byte_start, ordinal, block_sha256, tool, arguments.decode()]
    digest = hashlib.sha256(canonical(parts)).digest()
    return PREFIX + b32encode(digest).decode().rstrip("=").lower()
