"""Strict JSON: what is read is what everyone else reads, or it is refused (RFC 8259 with the limits of RFC
7493, I-JSON).

Readers disagree about duplicate names, NaN, integers that a double cannot hold and lone surrogates; an
argument that two of them read differently must not reach a tool. Nothing is repaired.

Codes of ``JSONRefused`` raised here:

- ``json_syntax``: not one JSON text (trailing characters included)
- ``json_too_deep``: more than ``MAX_DEPTH`` arrays and objects inside each other; such a text is not read at
  all
- ``json_not_an_object``: ``members`` of something that is not an object
- ``json_not_an_array``: ``elements`` of something that is not an array
- ``json_duplicate_name``, ``json_not_finite``, ``json_integer_range``, ``json_surrogate``: refusals of a
  value in a text whose syntax is right. Syntax is judged first, so these never hide a text that does not
  parse.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from math import isinf
from typing import TypeAlias, cast

JSONValue: TypeAlias = bool | int | float | str | list["JSONValue"] | dict[str, "JSONValue"] | None

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects that is read."""

MAX_INTEGER = 2**53 - 1
"""Largest magnitude of an integer literal: every reader holds it exactly (RFC 7493, section 2.2)."""

_WHITESPACE = re.compile(r"[ \t\n\r]*")
# A string counts as one piece, closed or not, so that brackets inside it are not counted.
_BRACKET_OR_STRING = re.compile(r'[\[\]{}]|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SURROGATE_OR_ESCAPE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


class JSONRefused(ValueError):
    """A JSON text or value that is not taken. ``code`` is stable; ``detail`` says what was wrong, for a
    person."""

    def __init__(self, code: str, detail: str) -> None:
        """Keep both; the message shows both."""
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail

    def __reduce__(self) -> tuple[type["JSONRefused"], tuple[str, str]]:
        """Pickle by what it was made from (BaseException would pass the message alone)."""
        return type(self), (self.code, self.detail)


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object.

    ``raw`` is the exact substring that spells the value, without the whitespace around it. ``refusal`` says
    why the value may not be used, where its syntax is right but ``parse`` would refuse it; ``value`` is then
    not to be trusted.
    """

    name: str
    raw: str
    value: JSONValue
    refusal: JSONRefused | None = None


def parse(text: str) -> JSONValue:
    """Read one JSON text. Raises ``JSONRefused`` (module docstring) for whatever two readers could read
    differently.

    Integer literals become ``int``, other numbers ``float``; a number with a fraction or an exponent may be
    of any size that a double holds.
    """
    _refuse_depth(text)
    walk = _Walk(text)
    value, refusal = walk.value()
    walk.finish()
    if refusal is not None:
        raise refusal
    return value


def members(text: str) -> tuple[Member, ...]:
    """Read one JSON object; its members in the order of the text, each with its exact raw value.

    Raises ``JSONRefused`` with ``json_syntax``, ``json_too_deep``, ``json_not_an_object``; with
    ``json_duplicate_name`` or ``json_surrogate`` where the object's own names are at fault. Refusals inside a
    value stay with its member.
    """
    _refuse_depth(text)
    walk = _Walk(text)
    if not walk.take("{"):
        walk.value()
        walk.finish()
        raise JSONRefused("json_not_an_object", "the text is not a JSON object")
    found: list[Member] = []
    refusals: list[JSONRefused] = []
    if not walk.take("}"):
        while True:
            name, refusal = walk.name()
            if refusal is not None:
                refusals.append(refusal)
            walk.expect(":")
            found.append(walk.member(name))
            if not walk.take(","):
                break
        walk.expect("}")
    walk.finish()
    repeated = _first_repeated(member.name for member in found)
    if repeated is not None:
        refusals.append(_duplicate(repeated))
    if refusals:
        raise refusals[0]
    return tuple(found)


def elements(text: str) -> tuple[str, ...]:
    """Read one JSON array; the exact substring that spells each element, without the whitespace around it.

    Raises ``JSONRefused`` with ``json_syntax``, ``json_too_deep``, ``json_not_an_array``. What an element holds is not
    judged beyond its syntax.
    """
    _refuse_depth(text)
    walk = _Walk(text)
    if not walk.take("["):
        walk.value()
        walk.finish()
        raise JSONRefused("json_not_an_array", "the text is not a JSON array")
    found: list[str] = []
    if not walk.take("]"):
        found.append(walk.member("").raw)
        while walk.take(","):
            found.append(walk.member("").raw)
        walk.expect("]")
    walk.finish()
    return tuple(found)


class _Walk:
    """Goes through a text value by value; whitespace before each piece is skipped. The decoder does the
    reading."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def take(self, char: str) -> bool:
        """Step over ``char`` if it comes next."""
        self._skip_whitespace()
        if not self._text.startswith(char, self._at):
            return False
        self._at += 1
        return True

    def expect(self, char: str) -> None:
        if not self.take(char):
            raise _syntax(f"expected {char!r}", self._at)

    def finish(self) -> None:
        """Nothing but whitespace may follow."""
        self._skip_whitespace()
        if self._at != len(self._text):
            raise _syntax("extra data", self._at)

    def value(self) -> tuple[JSONValue, JSONRefused | None]:
        self._skip_whitespace()
        value, self._at, refusal = _Reader().read(self._text, self._at)
        return value, refusal

    def name(self) -> tuple[str, JSONRefused | None]:
        self._skip_whitespace()
        if not self._text.startswith('"', self._at):
            raise _syntax("expected a member name in double quotes", self._at)
        name, refusal = self.value()
        return cast(str, name), refusal

    def member(self, name: str) -> Member:
        self._skip_whitespace()
        start = self._at
        value, refusal = self.value()
        return Member(name, self._text[start : self._at], value, refusal)

    def _skip_whitespace(self) -> None:
        # The pattern matches everywhere, if only the empty string.
        self._at = cast(re.Match[str], _WHITESPACE.match(self._text, self._at)).end()


class _Reader:
    """Reads one value. Refusals of values are kept, not raised, so that an error of syntax further on still
    wins."""

    def __init__(self) -> None:
        self._refusal: JSONRefused | None = None
        self._decoder = JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._float,
            parse_constant=self._constant,
        )

    def read(self, text: str, at: int) -> tuple[JSONValue, int, JSONRefused | None]:
        """The value at ``at``, where it ends, and the first thing in it that is refused."""
        try:
            value, end = self._decoder.raw_decode(text, at)
        except JSONDecodeError as error:
            raise _syntax(error.msg, error.pos) from None
        if _SURROGATE_OR_ESCAPE.search(text, at, end) and _holds_surrogate(value):
            self._refuse("json_surrogate", "a lone surrogate is no character")
        return value, end, self._refusal

    def _refuse(self, code: str, detail: str) -> None:
        if self._refusal is None:
            self._refusal = JSONRefused(code, detail)

    def _object(self, pairs: list[tuple[str, JSONValue]]) -> JSONValue:
        repeated = _first_repeated(name for name, _ in pairs)
        if repeated is not None and self._refusal is None:
            self._refusal = _duplicate(repeated)
        return dict(pairs)

    def _integer(self, literal: str) -> JSONValue:
        # By length first: int() refuses very long literals with an error of its own.
        if len(literal) > 17 or abs(int(literal)) > MAX_INTEGER:
            self._refuse("json_integer_range", f"integer {literal[:40]} is beyond ±(2^53 - 1)")
            return None
        return int(literal)

    def _float(self, literal: str) -> JSONValue:
        number = float(literal)
        if isinf(number):
            self._refuse("json_not_finite", f"number {literal[:40]} is too large")
        return number

    def _constant(self, literal: str) -> JSONValue:
        self._refuse("json_not_finite", f"{literal} is no JSON number")
        return None


def _refuse_depth(text: str) -> None:
    """Count brackets before reading: the decoder recurses, and its own limit depends on who calls."""
    depth = 0
    for piece in _BRACKET_OR_STRING.finditer(text):
        char = text[piece.start()]
        if char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise JSONRefused(
                    "json_too_deep", f"more than {MAX_DEPTH} levels at character {piece.start()}"
                )
        elif char in "]}":
            depth -= 1


def _holds_surrogate(value: JSONValue) -> bool:
    left: list[JSONValue] = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                return True
        elif isinstance(item, dict):
            left.extend(item)
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
    return False


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _duplicate(name: str) -> JSONRefused:
    return JSONRefused("json_duplicate_name", f"the name {name[:80]!r} stands twice in one object")


def _syntax(message: str, at: int) -> JSONRefused:
    return JSONRefused("json_syntax", f"{message} at character {at}")
