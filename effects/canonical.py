"""Canonical JSON (RFC 8785) and the digests made from it: equal values, equal bytes."""

import hashlib
import json
import math
import re
from collections.abc import Collection
from itertools import chain
from typing import NoReturn, cast

import orjson
import rfc8785

from effects.strict_json import MAX_INTEGER, JSONRefused, JSONValue

_SCALARS = frozenset({str, int, bool, type(None)})
_STRICT = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_PLAIN = _SCALARS | {dict, list}
_MOST_VALUES = 1_000_000
"""Values that are looked at; a value that holds itself has no end."""
_BEYOND_BMP = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
"""Each begins a character beyond the basic plane. Searched for one by one, for that is many times faster than a pattern."""
_SIXTEEN_DIGITS = re.compile(rb"[0-9]{16}")


def canonical(value: object) -> bytes:
    """The canonical UTF-8 bytes of a JSON value made of None, bool, int, float, str, list, tuple and dict.

    ``1`` and ``1.0`` are one number here, as in RFC 8785. Raises ``JSONRefused`` with ``json_integer_range``,
    ``json_not_finite``, ``json_surrogate``, ``json_too_deep`` or ``json_unsupported_type`` (also a name that
    is no str).
    """
    plain = canonical_of_plain(value)
    return _canonical(value) if plain is None else plain


def canonical_of_plain(value: object) -> bytes | None:
    """``canonical(value)`` where it is made of None, bool, int, str, list and dict alone, else None.

    Such a value and what ``from_canonical`` reads back are equal, so it need not be read back. This is the way of almost
    everything that is written, and many times faster: a compiled encoder differs from RFC 8785 in numbers with a
    fraction and in the order of names beyond the basic plane, so neither may occur.
    """
    if not _is_plain(value):
        return None
    try:
        text = orjson.dumps(value, option=_STRICT)
    except TypeError:
        return None
    if not text.isascii():
        for lead in _BEYOND_BMP:
            if lead in text:
                return None
    return text


def _is_plain(value: object) -> bool:
    """Level by level, so that each level is looked at by compiled code."""
    level: Collection[object] = (value,)
    looked_at = 0
    while level:
        kinds = set(map(type, level))
        if kinds <= _SCALARS:
            return True
        looked_at += len(level)
        if not kinds <= _PLAIN or looked_at > _MOST_VALUES:
            return False
        level = _within(level, kinds)
    return True


def _within(level: Collection[object], kinds: set[type]) -> list[object]:
    inner: list[object] = []
    if dict in kinds:
        dicts = level if len(kinds) == 1 else [v for v in level if type(v) is dict]
        inner += chain.from_iterable(map(dict.values, cast(Collection[dict[str, object]], dicts)))
    if list in kinds:
        lists = level if len(kinds) == 1 else [v for v in level if type(v) is list]
        inner += chain.from_iterable(cast(Collection[list[object]], lists))
    return inner


def _canonical(value: object) -> bytes:
    try:
        return rfc8785.dumps(cast(JSONValue, value))
    except rfc8785.IntegerDomainError as error:
        raise JSONRefused("json_integer_range", str(error)) from None
    except rfc8785.FloatDomainError as error:
        raise JSONRefused("json_not_finite", str(error)) from None
    except UnicodeEncodeError:
        raise _lone_surrogate() from None
    except rfc8785.CanonicalizationError as error:
        if isinstance(error.__cause__, UnicodeEncodeError):
            raise _lone_surrogate() from None
        raise JSONRefused("json_unsupported_type", str(error)) from None
    except RecursionError:
        raise JSONRefused("json_too_deep", "the value is nested too deeply, or holds itself") from None


def digest(value: object) -> str:
    """``sha256:<hex>`` of the canonical bytes. Raises as ``canonical``."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def from_canonical(text: str | bytes) -> JSONValue:
    """Read what ``canonical`` wrote; ``canonical(from_canonical(text)) == text``. For trusted text only: it
    is not strict. Raises ValueError for what can be no JSON of ours: NaN, what is infinite as a double, a lone surrogate.

    RFC 8785 spells the double 1e16 as ``10000000000000000``; no canonical integer is that large, so a literal
    beyond 2^53 - 1 can only be a double and is read as one.
    """
    stored = text.encode() if isinstance(text, str) else text
    if _SIXTEEN_DIGITS.search(stored) is None:
        try:
            return cast(JSONValue, orjson.loads(stored))
        except orjson.JSONDecodeError:
            pass  # nested deeper than the compiled decoder goes, or none of ours
    value = json.loads(stored, parse_int=_number, parse_float=_finite, parse_constant=_refused)
    # It takes half of a surrogate pair for a character.
    json.dumps(value, ensure_ascii=False).encode()
    return cast(JSONValue, value)


def _finite(literal: str) -> float:
    number = float(literal)
    return number if math.isfinite(number) else _refused(literal)


def _refused(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is no number of JSON")


def _number(literal: str) -> int | float:
    number = int(literal)
    return number if abs(number) <= MAX_INTEGER else _finite(literal)


def _lone_surrogate() -> JSONRefused:
    return JSONRefused("json_surrogate", "a lone surrogate is no character")
