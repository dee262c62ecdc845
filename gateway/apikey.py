"""API keys as text: ``cg_<id>_<secret><checksum>``, so that a scanner finds leaked ones and a slip of the pen is noticed.

The id (16 hex digits) is public and names the key everywhere. The secret has 256 bits (64 hex digits); with that much
entropy a plain SHA-256 of it is safe to keep. The checksum (8 hex digits) is the CRC-32 of what stands before it.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self
from zlib import crc32

ID_BYTES, SECRET_BYTES = 8, 32

_FORM = re.compile(r"cg_([0-9a-f]{16})_([0-9a-f]{64})([0-9a-f]{8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key. Its ``repr`` does not show the secret."""

    id: str
    secret: str = field(repr=False)

    @classmethod
    def fresh(cls, entropy: Callable[[int], bytes]) -> Self:
        """A new key; ``entropy(n)`` gives n bytes that nobody can foresee."""
        return cls(entropy(ID_BYTES).hex(), entropy(SECRET_BYTES).hex())

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The key that ``text`` spells; None where it has another form or its checksum is wrong."""
        found = _FORM.fullmatch(text)
        if found is None:
            return None
        key = cls(found[1], found[2])
        return key if key.text == text else None

    @property
    def text(self) -> str:
        """What its holder sends: all of it."""
        body = f"cg_{self.id}_{self.secret}"
        return f"{body}{crc32(body.encode()):08x}"

    @property
    def digest(self) -> bytes:
        """SHA-256 of the secret: what may be kept."""
        return hashlib.sha256(self.secret.encode()).digest()

    def matches(self, digest: bytes) -> bool:
        """Whether ``digest`` is that of its secret; takes as long either way."""
        return hmac.compare_digest(self.digest, digest)
