"""The ways in which a text may stand in JSON, in JSON within JSON, or in a URL.

An encoder may escape what it need not: PHP puts a backslash before a slash, .NET writes a plus by its number.
"""

import re
from functools import lru_cache
from itertools import groupby

_SHORT = {"\n": b"n", "\r": b"r", "\t": b"t", "\b": b"b", "\f": b"f"}

# Bounded, for an answer may be made of backslashes alone: enough for JSON within JSON within JSON.
_SOME = rb"\\{1,4}"
_PERHAPS = rb"\\{0,7}"


@lru_cache(maxsize=256)
def any_spelling(text: str) -> re.Pattern[bytes]:
    """Finds ``text`` in bytes, each of its characters plain, escaped as in JSON, or percent-encoded."""
    runs = ((char, len(list(run))) for char, run in groupby(text))
    return re.compile(b"".join(_spelled(char, times) for char, times in runs))


def _spelled(char: str, times: int) -> bytes:
    """A character that stands so often in a row."""
    others = [_by_number(char), _in_python(char), _percent(char)]
    if char == "\\":
        # Each is one backslash or, at each level, twice as many.
        plain = rb"\\{%d,%d}" % (times, 4 * times)
        others = [b"(?:" + b"|".join(others) + b"){%d}" % times]
        # By its number first, which begins with a backslash too.
        return b"(?:" + b"|".join([*others, plain]) + b")"
    if char in _SHORT:
        others.append(_SOME + _SHORT[char])
    plain = (_PERHAPS if char in "\"'/" else b"") + re.escape(char.encode())
    return b"(?:" + b"|".join([plain, *others]) + b"){%d}" % times


def _by_number(char: str) -> bytes:
    units = char.encode("utf-16-be").hex()
    return b"".join(_SOME + b"u" + _digits(units[at : at + 4]) for at in range(0, len(units), 4))


def _in_python(char: str) -> bytes:
    # As ``repr`` shows what is not printable, and JSON that was made of bytes.
    return b"".join(_SOME + b"x" + _digits(f"{byte:02x}") for byte in char.encode())


def _percent(char: str) -> bytes:
    return b"".join(b"%" + _digits(f"{byte:02x}") for byte in char.encode())


def _digits(digits: str) -> bytes:
    return b"".join(b"[%c%c]" % (ord(d), ord(d.upper())) if d.isalpha() else d.encode() for d in digits)
