"""What goes through the pipes between a dispatcher and the process of a function: frames, a kind and so many bytes.

``READY`` or ``BROKEN`` once, when the module is loaded or is not; then for each ``CALL`` a ``BEGUN`` before the function is
entered, and ``ANSWER`` or ``RAISED`` behind it. An error is told as its class, a line end and its message, as it is: only the
dispatcher knows what of it is secret, and cuts it behind that.
"""

import struct
from typing import BinaryIO

HEAD = struct.Struct(">cI")
READY, BROKEN, BEGUN, ANSWER, RAISED, CALL = b"R", b"B", b"G", b"A", b"X", b"C"
MAX_BYTES = 64 << 20
"""Bytes of a frame at most."""

LONGEST_TOLD = 1 << 16
"""Bytes of a ``BROKEN`` or ``RAISED`` at most: much more than is kept, for what stands behind may be the rest of a secret."""


def frame(kind: bytes, body: bytes = b"") -> bytes:
    """One frame."""
    return HEAD.pack(kind, len(body)) + body


def split(body: bytes) -> tuple[bytes, bytes]:
    """The two parts of the body of a ``CALL``: what the call belongs to, and its arguments."""
    (length,) = struct.unpack_from(">I", body)
    return body[4 : 4 + length], body[4 + length :]


def joined(context: bytes, arguments: bytes) -> bytes:
    """The body of a ``CALL``."""
    return struct.pack(">I", len(context)) + context + arguments


def read(stream: BinaryIO) -> tuple[bytes, bytes] | None:
    """The next frame; None at the end."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    kind, length = HEAD.unpack(head)
    body = stream.read(length)
    return None if len(body) < length else (kind, body)
