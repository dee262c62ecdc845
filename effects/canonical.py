"""Canonical JSON (RFC 8785) and the digests made from it: equal values, equal bytes."""

import hashlib
import json
from typing import cast

import rfc8785

from effects.strict_json import MAX_INTEGER, JSONRefused, JSONValue


def canonical(value: object) -> bytes:
    """The canonical UTF-8 bytes of a JSON value made of None, bool, int, float, str, list, tuple and dict.

    ``1`` and ``1.0`` are one number here, as in RFC 8785. Raises ``JSONRefused`` with ``json_integer_range``,
    ``json_not_finite``, ``json_surrogate``, ``json_too_deep`` or ``json_unsupported_type`` (also a name that
    is no str).
    """
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
    is not strict.

    RFC 8785 spells the double 1e16 as ``10000000000000000``; no canonical integer is that large, so a literal
    beyond 2^53 - 1 can only be a double and is read as one.
    """
    return cast(JSONValue, json.loads(text, parse_int=_number))


def _number(literal: str) -> int | float:
    number = int(literal)
    return number if abs(number) <= MAX_INTEGER else float(literal)


def _lone_surrogate() -> JSONRefused:
    return JSONRefused("json_surrogate", "a lone surrogate is no character")
