"""What a table masks, taken out of the texts of a call too: tools put their answers into texts (the text block of an MCP
answer beside ``structuredContent``), and repeat what they were sent.

A text that is a JSON object or array is masked inside and written again, from a root of its own. In any other text a value
that is masked elsewhere in the call gives way to the mask. A text that cannot be told apart is hidden whole: one that looks
like JSON and is none, names what is masked and says something else behind it, writes a masked value in another way, is
encoded bytes, or is longer than what is looked at (``MOST_CHARACTERS`` of a call, ``MOST_VALUES`` masked values).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote, quote_plus

from effects.masks import MASKED, Places, places_of
from effects.strict_json import JSONRefused, JSONValue, parse

MOST_CHARACTERS = 1 << 19
"""Characters of texts of one call that are looked into."""

MOST_VALUES = 64
"""Masked values of one call that are looked for."""

DEEPEST = 4
"""JSON texts within each other that are read."""

_SHORTEST_PART = 4
"""Characters of a value that is looked for within words; a shorter one would be found in all of them."""

_SHORTEST_BARE = 6
"""Letters and digits of a value that is looked for whatever stands between them."""

_ENCODED = frozenset({"raw_base64", "blob"})
_ENVELOPES = frozenset({"structuredContent", "body", "result"})
"""Members of an answer that hold what the tool says, and are a root of their own."""

Prose = Callable[[str], str]

_PLAIN = re.compile(r"[A-Za-z_]{1,64}")
_NO_WORD = re.compile(r"[\W_]+")


class Hidden:
    """What is masked of one call. ``arguments``, ``results``: all that is known of it, for what is masked in one place is
    looked for in the others; ``paths`` as in ``effects.masks``.
    """

    def __init__(
        self, paths: Iterable[str], arguments: Iterable[object] = (), results: Iterable[object] = ()
    ) -> None:
        """See the class."""
        self._places = places_of(paths)
        self._names = _names_in(self._places.last_names)
        self._left = MOST_CHARACTERS
        self._read: dict[str, JSONValue] = {}
        self._found: set[str] = set()
        self._exact: tuple[str, ...] = ()
        self._bare: tuple[str, ...] = ()
        for value in arguments:
            self._walk(value, self._places, 0, _as_it_is)
        for value in results:
            self._walk(value, self._places, 0, _as_it_is, is_result=True)
        if len(self._found) <= MOST_VALUES:
            self._exact, self._bare = _forms(self._found)
        self._left = MOST_CHARACTERS

    def arguments(self, value: object) -> object:
        """A copy of arguments without what is masked."""
        return self._walk(value, self._places, 0, self._prose)

    def result(self, value: object) -> object:
        """A copy of a result without what is masked."""
        return self._walk(value, self._places, 0, self._prose, is_result=True)

    def identifier(self, text: str) -> str:
        """A text that is neither: hidden whole where it repeats a masked value."""
        return text if self._told(text) == text else MASKED

    def _walk(
        self, value: object, places: Places, depth: int, prose: Prose, *, is_result: bool = False
    ) -> object:
        if isinstance(value, str):
            return self._text(value, places, depth, prose)
        if isinstance(value, list):
            return [
                self._member(str(place), element, places, depth, prose, is_result)
                for place, element in enumerate(value)
            ]
        if isinstance(value, Mapping):
            encoded = _ENCODED | ({"data"} if "mimeType" in value else set())
            return {
                self._key(name, prose): MASKED
                if name in encoded and isinstance(member, str)
                else self._member(name, member, places, depth, prose, is_result)
                for name, member in value.items()
            }
        return _number(value, prose)

    def _member(
        self, step: str, value: object, places: Places, depth: int, prose: Prose, is_result: bool
    ) -> object:
        within = places.within(step)
        if within is None:
            if prose is _as_it_is:
                self._gather(value)
            return MASKED
        if is_result and step in _ENVELOPES:
            within = within.and_from_the_root(self._places)
        return self._walk(value, within, depth, prose)

    def _text(self, text: str, places: Places, depth: int, prose: Prose) -> object:
        begins = text.lstrip()[:1]
        if not begins or begins not in '{["':
            return prose(text)
        inner = self._parsed(text, depth)
        if inner is None:
            return prose(text) if begins == '"' else MASKED
        shown = self._walk(inner, places.and_from_the_root(self._places), depth + 1, prose, is_result=True)
        return text if shown == inner else json.dumps(shown, ensure_ascii=False)

    def _parsed(self, text: str, depth: int) -> JSONValue:
        if depth >= DEEPEST:
            return None
        if text not in self._read:
            if not self._spend(text):
                return None
            try:
                self._read[text] = parse(text)
            except JSONRefused:
                self._read[text] = None
        return self._read[text]

    def _gather(self, value: object) -> None:
        """Keep the values within what is masked."""
        left = [value]
        while left and len(self._found) <= MOST_VALUES:
            item = left.pop()
            if isinstance(item, Mapping):
                left.extend(item.values())
            elif isinstance(item, list):
                left.extend(item)
            elif isinstance(item, str) and item.strip():
                self._found.add(item)
            elif isinstance(item, int | float) and not isinstance(item, bool):
                self._found.add(json.dumps(item))

    def _key(self, name: str, prose: Prose) -> str:
        if prose is _as_it_is:
            return name
        told = self._told(name)
        # A name of letters alone is one of the tool's own, where nothing can be looked for.
        return name if self._blind and _PLAIN.fullmatch(name) else told

    def _prose(self, text: str) -> str:
        told = self._told(text)
        if self._names is None or self._names.fullmatch(told.strip()) is not None:
            return told
        return told if self._names.search(told) is None else MASKED

    def _told(self, text: str) -> str:
        """``text`` where no value that is masked stands."""
        self._spend(text)
        if self._blind:
            return MASKED
        told = text
        for form in self._exact:
            if form in told:
                whole = len(form) < _SHORTEST_PART
                told = _word(form).sub(MASKED, told) if whole else told.replace(form, MASKED)
        bare = _bare(told) if self._bare else ""
        return MASKED if any(value in bare for value in self._bare) else told

    @property
    def _blind(self) -> bool:
        """Whether there is too much to look at."""
        return self._left < 0 or len(self._found) > MOST_VALUES

    def _spend(self, text: str) -> bool:
        self._left -= len(text) + len(self._exact)
        return self._left >= 0


def _as_it_is(text: str) -> str:
    """While values are gathered, texts stay."""
    return text


def _number(value: object, prose: Prose) -> object:
    """A value that is no text, unless it is spelled as one that is masked."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    spelled = json.dumps(value)
    return value if len(spelled) < _SHORTEST_PART or prose(spelled) == spelled else MASKED


def _forms(found: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How values may be spelled, the longest first, and their letters and digits alone."""
    spelled = {
        form
        for value in found
        for form in (
            value,
            value.strip(),
            json.dumps(value)[1:-1],
            json.dumps(value, ensure_ascii=False)[1:-1],
            quote(value, safe="", errors="replace"),
            quote_plus(value, errors="replace"),
        )
    }
    bare = {_bare(value) for value in found}
    return (
        tuple(sorted(spelled, key=len, reverse=True)),
        tuple(value for value in bare if len(value) >= _SHORTEST_BARE),
    )


def _bare(text: str) -> str:
    return _NO_WORD.sub("", text).casefold()


def _word(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(form)}(?!\w)")


@lru_cache(maxsize=256)
def _names_in(names: frozenset[str]) -> re.Pattern[str] | None:
    """Finds a name of what is masked behind which something else than the mask follows."""
    spelled = [
        r"[\W_]*".join(map(re.escape, words))
        for name in sorted(names)
        if (words := _NO_WORD.sub(" ", name).split())
    ]
    if not spelled:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(spelled)})(?!\w)(?!\W{{0,8}}{re.escape(MASKED)})", re.IGNORECASE)
