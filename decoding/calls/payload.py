"""The payload of a block that spells its call in JSON: one object with exactly the members ``name`` and ``arguments``, or
what its format has in their place (``Shape``).

Problem codes: those of ``effects.strict_json`` and ``not_an_object``, ``unexpected_member``,
``name_missing``, ``name_not_a_string``, ``name_empty``, ``name_with_nul``, ``arguments_missing``, ``arguments_not_an_object``.
"""

import re
from dataclasses import dataclass

from decoding.calls.block import Call
from effects.strict_json import JSONRefused, Member, members


@dataclass(frozen=True, slots=True)
class Shape:
    """The members of a format's object. ``arguments``: what the arguments are called; ``beside``: names that are allowed
    too and say nothing."""

    arguments: str = "arguments"
    beside: frozenset[str] = frozenset()


HERMES = Shape()

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_UNREADABLE = {
    "json_syntax": "json_syntax",
    "json_too_deep": "json_too_deep",
    "json_not_an_object": "arguments_not_an_object",
}


def call_in(payload: str, ordinal: int, shape: Shape = HERMES) -> Call:
    """Read the text between the delimiters, once and strictly; what is wrong is the call's ``problem``, never
    repaired."""
    try:
        by_name = {member.name: member for member in members(payload)}
    except JSONRefused as refusal:
        code = "not_an_object" if refusal.code == "json_not_an_object" else refusal.code
        return unparsable(ordinal, code)
    problem = _structure_problem(by_name, shape)
    if problem is not None:
        return unparsable(ordinal, problem)
    tool, arguments = by_name["name"].value, by_name[shape.arguments]
    assert isinstance(tool, str)  # noqa: S101 - told to mypy; _structure_problem has checked it
    refused = arguments.refusal
    return Call(ordinal, tool, arguments.raw, None if refused is None else refused.code)


def call_of(name: str, arguments: str, ordinal: int) -> Call:
    """The call of a name and a text that are spelled apart from each other."""
    problem = name_problem(name) or (_SURROGATE.search(name) and "json_surrogate")
    if problem is not None:
        return unparsable(ordinal, problem)
    try:
        refusal = _first_refusal(members(arguments))
    except JSONRefused as refused:
        if refused.code in _UNREADABLE:
            return unparsable(ordinal, _UNREADABLE[refused.code])
        refusal = refused
    return Call(ordinal, name, arguments, None if refusal is None else refusal.code)


def _first_refusal(found: tuple[Member, ...]) -> JSONRefused | None:
    return next((member.refusal for member in found if member.refusal is not None), None)


def unparsable(ordinal: int, problem: str) -> Call:
    """The call of a block that does not parse."""
    return Call(ordinal, None, None, problem)


def _structure_problem(by_name: dict[str, Member], shape: Shape) -> str | None:
    if by_name.keys() - {"name", shape.arguments} - shape.beside:
        return "unexpected_member"
    if "name" not in by_name:
        return "name_missing"
    name = by_name["name"]
    if not isinstance(name.value, str):
        return "name_not_a_string"
    if name.refusal is not None:
        return name.refusal.code
    problem = name_problem(name.value)
    if problem is not None:
        return problem
    if shape.arguments not in by_name:
        return "arguments_missing"
    if not isinstance(by_name[shape.arguments].value, dict):
        return "arguments_not_an_object"
    return None


def name_problem(name: str) -> str | None:
    """What is wrong with the name of a tool."""
    if not name:
        return "name_empty"
    return "name_with_nul" if "\0" in name else None
