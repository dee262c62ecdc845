"""The payload of a Hermes block: one JSON object with exactly the members ``name`` and ``arguments``.

Problem codes: those of ``effects.strict_json`` and ``not_an_object``, ``unexpected_member``,
``name_missing``, ``name_not_a_string``, ``name_empty``, ``name_with_nul``, ``arguments_missing``, ``arguments_not_an_object``.
"""

from decoding.calls.block import Call
from effects.strict_json import JSONRefused, Member, members


def call_in(payload: str, ordinal: int) -> Call:
    """Read the text between the delimiters, once and strictly; what is wrong is the call's ``problem``, never
    repaired."""
    try:
        by_name = {member.name: member for member in members(payload)}
    except JSONRefused as refusal:
        code = "not_an_object" if refusal.code == "json_not_an_object" else refusal.code
        return unparsable(ordinal, code)
    problem = _structure_problem(by_name)
    if problem is not None:
        return unparsable(ordinal, problem)
    tool, arguments = by_name["name"].value, by_name["arguments"]
    assert isinstance(tool, str)  # noqa: S101 - told to mypy; _structure_problem has checked it
    refused = arguments.refusal
    return Call(ordinal, tool, arguments.raw, None if refused is None else refused.code)


def unparsable(ordinal: int, problem: str) -> Call:
    """The call of a block that does not parse."""
    return Call(ordinal, None, None, problem)


def _structure_problem(by_name: dict[str, Member]) -> str | None:
    if by_name.keys() - {"name", "arguments"}:
        return "unexpected_member"
    if "name" not in by_name:
        return "name_missing"
    name = by_name["name"]
    if not isinstance(name.value, str):
        return "name_not_a_string"
    if name.refusal is not None:
        return name.refusal.code
    if not name.value:
        return "name_empty"
    if "\0" in name.value:
        return "name_with_nul"
    if "arguments" not in by_name:
        return "arguments_missing"
    if not isinstance(by_name["arguments"].value, dict):
        return "arguments_not_an_object"
    return None
