"""How things are said to people: counts, and what does not fit in a document that was given."""

from collections.abc import Mapping
from typing import Any

_OBJECT, _LIST, _STRING, _INTEGER = "an object", "a list", "a string", "an integer"
_TIME = "a time, as 2026-01-31T12:00:00Z"

_KINDS = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dataclass_type", "dict_type", "mapping_type"), _OBJECT),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), _LIST),
    **dict.fromkeys(("string_type", "string_unicode"), _STRING),
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), _INTEGER),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("datetime_type", "datetime_parsing", "datetime_from_date_parsing"), _TIME),
    **dict.fromkeys(("enum", "literal_error"), "{expected}"),
    "finite_number": "a finite number",
    "none_required": "null",
    "path_type": "a path",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
}  # fmt: skip
"""What a value must be, by pydantic's type of the fault; names in braces are of the fault's context."""

_OTHERS = {
    "missing": "missing",
    "extra_forbidden": "unknown field",
    "invalid_key": "a name must be a string",
    "json_invalid": "no JSON: {error}",
    "string_pattern_mismatch": "must match {pattern}",
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "{discriminator} is missing",
}
_LENGTHS = {
    "too_short": ("at least", "min_length", "element"),
    "too_long": ("at most", "max_length", "element"),
    "string_too_short": ("at least", "min_length", "character"),
    "string_too_long": ("at most", "max_length", "character"),
}


def counted(count: int, noun: str) -> str:
    """``1 tool``, ``2 tools``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def fault_said(fault: Mapping[str, Any]) -> str:
    """What is wrong with a value, in our words. ``fault``: one of pydantic's ``errors()``, with its context.

    Nothing of the value is repeated. A fault that no words are kept for is told in pydantic's.
    """
    kind, context = fault["type"], fault.get("ctx", {})
    try:
        if kind in _KINDS:
            return "must be " + _KINDS[kind].format_map(context)
        if kind in _OTHERS:
            return _OTHERS[kind].format_map(context)
        if kind in _LENGTHS:
            bound, name, noun = _LENGTHS[kind]
            return f"must have {bound} {counted(context[name], noun)}"
    except KeyError:
        pass  # It was asked for without context.
    return str(fault["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
