"""The end of a text that the next delta may turn into something else: half an opener, half a character."""

import re

from gateway.hosted.spelling import characters

# "<", "<t", ..., "<tool_call" with any number of backslashes; or the first half of a surrogate pair.
_BEGUN = re.compile(r"(?:<(?:t(?:o(?:o(?:l(?:_(?:c(?:a(?:l(?:l\\*)?)?)?)?)?)?)?)?)?)\Z|[\ud800-\udbff]\Z")


def begins_opener(text: str) -> bool:
    """Whether ``text`` ends where an opener may begin."""
    return _BEGUN.search(text) is not None


class TextTail:
    """Takes text in deltas and gives it in pieces of which none ends within an opener or a character."""

    def __init__(self) -> None:
        """Nothing is held back."""
        self.held = ""

    def take(self, delta: str) -> str:
        """What may be said after ``delta``; may be empty."""
        text = self.held + delta
        begun = _BEGUN.search(text)
        at = len(text) if begun is None else begun.start()
        self.held = text[at:]
        return characters(text[:at])

    def flush(self) -> str:
        """What is held back, since something else than text follows."""
        held, self.held = self.held, ""
        return characters(held)
