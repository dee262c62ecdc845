"""Text of tokens: incomplete UTF-8 is withheld until the token that completes it; ends are seen anywhere.

Rules (interface.md, Token events):

- A token's text is what its bytes complete. The text of a branch is the concatenation of its tokens' texts;
  the ids are the truth. Bytes that cannot become valid UTF-8 are spelled U+FFFD, and so is NUL, which no
  database text holds. Bytes still withheld when a message ends are not spelled.
- An id that ends the message is committed with empty text. Other special tokens, ``<tool_call>`` among them,
  keep their text.
- A stop string ends the message with the token that completes it. That token stays whole: text of it behind
  the stop string is committed too, because a token cannot be accepted in part.
"""

import codecs
from collections.abc import Iterable
from dataclasses import dataclass

from decoding.errors import OptionsError
from decoding.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Spelling:
    """Where a text stands after some tokens. A value: advancing over drafts never disturbs the state before
    them.

    ``pending``: bytes of an incomplete character. ``tail``: as much of the text as a stop string may begin
    in.
    """

    pending: bytes = b""
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Spelled:
    """One token's text, the state after it, and whether it ends the message."""

    text: str
    after: Spelling
    ends: bool


class Speller:
    """Spells the tokens of one vocabulary and watches for ``stops``. Holds no state of a text.

    Raises ``OptionsError`` where a stop string is empty.
    """

    def __init__(self, vocabulary: Vocabulary, stops: tuple[str, ...] = ()) -> None:
        """See the class."""
        if "" in stops:
            raise OptionsError("a stop string must not be empty")
        self._vocabulary = vocabulary
        self._stops = stops
        self._reach = max(map(len, stops), default=1) - 1

    def spell(self, before: Spelling, token: int) -> Spelled:
        """Spell ``token`` behind ``before``."""
        if token in self._vocabulary.ends:
            return Spelled("", before, ends=True)
        text, pending = spell_bytes(before.pending, self._vocabulary.piece(token))
        seen = before.tail + text
        tail = seen[max(0, len(seen) - self._reach) :]
        return Spelled(text, Spelling(pending, tail), self._stops_in(before.tail, text))

    def spell_all(self, tokens: Iterable[int], before: Spelling | None = None) -> tuple[str, Spelling, bool]:
        """Text of many tokens, the state after them, and whether the last of them ends the message."""
        after, ends, texts = before or Spelling(), False, []
        for token in tokens:
            spelled = self.spell(after, token)
            texts.append(spelled.text)
            after, ends = spelled.after, spelled.ends
        return "".join(texts), after, ends

    def _stops_in(self, tail: str, text: str) -> bool:
        """Whether a stop string ends inside ``text``; one that lies in ``tail`` alone was seen before."""
        seen = tail + text
        return any(seen.find(stop, max(0, len(tail) - len(stop) + 1)) >= 0 for stop in self._stops)


def spell_bytes(pending: bytes, piece: bytes) -> tuple[str, bytes]:
    """The text that ``piece`` completes behind ``pending``, and the bytes that wait for more."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.setstate((pending, 0))
    text = decoder.decode(piece)
    return text.replace("\0", "\ufffd"), decoder.getstate()[0]
