"""A vocabulary without its tokenizer: which bytes an id spells, and which ids end a message."""

from dataclasses import dataclass

from decoding.errors import ModelRefused


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """``pieces[id]``: the bytes that the id spells (UTF-8, possibly part of a character).

    ``ends``: ids that end a message; they spell nothing. ``digest``: names the tokenizer with its merges and
    added tokens; two models may exchange ids only where it is equal. Ids from ``size`` on are padding.
    """

    pieces: tuple[bytes, ...]
    ends: frozenset[int]
    digest: str

    @property
    def size(self) -> int:
        """The number of real ids."""
        return len(self.pieces)

    def piece(self, token: int) -> bytes:
        """The bytes that ``token`` adds to the text: none for an id that ends the message."""
        return b"" if token in self.ends else self.pieces[token]

    def require(self, ids: tuple[int, ...], *, code: str) -> None:
        """Raise ``ModelRefused`` with ``code`` unless every id is one of this vocabulary."""
        for token in ids:
            if not 0 <= token < self.size:
                raise ModelRefused(f"token id {token} is outside a vocabulary of {self.size}", code=code)
