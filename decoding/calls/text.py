"""Text that grows piece by piece and is read once."""


class GrowingText:
    """Immutable text made of pieces: adding one costs the same however long the text is, and leaves the old
    text alone.

    Texts with a common beginning share it. Equal if they spell the same, however they were cut.
    """

    __slots__ = ("_before", "_piece")

    def __init__(self, piece: str = "", before: "GrowingText | None" = None) -> None:
        """``before`` followed by ``piece``."""
        self._piece = piece
        self._before = before

    def add(self, piece: str) -> "GrowingText":
        """This text followed by ``piece``."""
        return GrowingText(piece, self) if piece else self

    def joined(self) -> str:
        """The whole text; costs its length."""
        pieces: list[str] = []
        text: GrowingText | None = self
        while text is not None:
            pieces.append(text._piece)
            text = text._before
        return "".join(reversed(pieces))

    # Spelled out, since comparing or copying link by link would recurse as deep as there are pieces.

    def __eq__(self, other: object) -> bool:
        """Equal if the joined texts are."""
        return isinstance(other, GrowingText) and (self is other or self.joined() == other.joined())

    def __hash__(self) -> int:
        """Follows ``__eq__``."""
        return hash(self.joined())

    def __reduce__(self) -> tuple[type["GrowingText"], tuple[str]]:
        """Copied and pickled as one piece."""
        return GrowingText, (self.joined(),)

    def __repr__(self) -> str:
        """The joined text."""
        return f"GrowingText({self.joined()!r})"
