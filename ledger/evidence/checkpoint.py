"""A checkpoint: what a log says its tree is, as the text that it signs (C2SP tlog-checkpoint)."""

import base64
import binascii
from dataclasses import dataclass

from ledger.errors import CheckpointRefused
from ledger.evidence.tree import HASH_BYTES

_DIGITS = 19


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """``origin`` names the log for ever; ``size`` counts its leaves; ``root`` is the root of the tree over them.

    ``extensions``: further lines that the signature covers and nobody here reads.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def body(self) -> str:
        """The text to sign; ends with a newline. Raises CheckpointRefused where it could not be read back."""
        lines = (self.origin, str(self.size), base64.b64encode(self.root).decode(), *self.extensions)
        text = "".join(f"{line}\n" for line in lines)
        if Checkpoint.parse(text) != self:
            raise CheckpointRefused("a line of the checkpoint holds a line break")
        return text

    @classmethod
    def parse(cls, body: str) -> "Checkpoint":
        """Read the text of a checkpoint. Raises CheckpointRefused where it has another form."""
        lines = body.split("\n")
        if len(lines) < 4 or lines[-1] or not all(lines[:-1]):
            raise CheckpointRefused("a checkpoint has an origin, a size and a root, each a line of its own")
        origin, size, root, *extensions = lines[:-1]
        if not size.isascii() or not size.isdigit() or (size.startswith("0") and size != "0"):
            raise CheckpointRefused("the size of a checkpoint is a decimal number without leading zeros")
        if len(size) > _DIGITS:
            raise CheckpointRefused("the size of a checkpoint is larger than any log")
        return cls(origin, int(size), _root(root), tuple(extensions))


def _root(text: str) -> bytes:
    try:
        root = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        root = b""
    # Base64 has spare bits: without the way back, two texts would name one root.
    if len(root) != HASH_BYTES or base64.b64encode(root).decode() != text:
        raise CheckpointRefused("the root of a checkpoint is 32 bytes in base64")
    return root
