"""Call blocks of Mistral's models, in both of their forms (mistral-common, tokenizers v2 to v7 and v11 on).

- ``[TOOL_CALLS][{"name": ..., "arguments": {...}}, ...]``: one block, a call for each element, ordinals in their order;
  ``"id"`` is allowed beside the two and says nothing here. The block ends with the bracket that closes the array.
- ``[TOOL_CALLS]name[ARGS]{...}``, ``name[CALL_ID]id[ARGS]{...}`` too: one block and one call, the marker repeated for
  the next. The block ends with the brace that closes the object.

Problems beside those of ``decoding.calls.payload``: ``not_an_array``, ``arguments_marker_missing`` (a brace or a control
character before ``[ARGS]``), ``arguments_not_an_object`` (something else than an object behind it). An array that does
not parse is one call that does not.
"""

import re

from decoding.calls.block import Call
from decoding.calls.grammar import STRING, TEXT, Action, Mode, Step, in_string
from decoding.calls.payload import Shape, call_in, call_of, unparsable
from effects.strict_json import JSONRefused, elements

MARKER = "[TOOL_CALLS]"
ARGUMENTS = "[ARGS]"
CALL_ID = "[CALL_ID]"

_SHAPE = Shape(beside=frozenset({"id"}))
_MARKER = re.escape(MARKER)
_MODES = {
    TEXT: Mode(re.compile(_MARKER), (MARKER,)),
    "begun": Mode(re.compile(_MARKER + r"|[^ \t\r\n]"), (MARKER,)),
    "name": Mode(re.compile(rf"{_MARKER}|{re.escape(ARGUMENTS)}|[{{\x00-\x1f]"), (MARKER, ARGUMENTS)),
    "arguments": Mode(re.compile(_MARKER + r"|[^ \t\r\n]"), (MARKER,)),
    "object": Mode(re.compile(_MARKER + r'|["{}]'), (MARKER,)),
    "object string": STRING,
    "array": Mode(re.compile(_MARKER + r'|["\[\]]'), (MARKER,)),
    "array string": STRING,
}


class MistralGrammar:
    """``Grammar`` of both Mistral forms."""

    start = TEXT

    def mode(self, name: str) -> Mode:
        """The character behind the marker tells the forms apart."""
        return _MODES[name]

    def met(self, mode: str, depth: int, found: str) -> Step:
        """Brackets and markers count outside of strings only."""
        if mode.endswith(" string"):
            return in_string(found, mode.removesuffix(" string"), depth, mode)
        if mode == TEXT:
            return Step(Action.BEGIN, "begun")
        if found == MARKER:
            return Step(Action.END_BEFORE, TEXT, problem="opener_inside_block")
        if mode in ("object", "array"):
            return _in_json(mode, depth, found)
        return _before_json(mode, found)

    def calls(self, spelled: str, ordinal: int) -> tuple[Call, ...]:
        """Those of the array, or the one of a name and its arguments."""
        payload = spelled.removeprefix(MARKER).lstrip(" \t\r\n")
        if payload.startswith("["):
            return _calls_of_array(payload, ordinal)
        header, _, arguments = payload.partition(ARGUMENTS)
        name = header.partition(CALL_ID)[0]
        return (call_of(name.strip(" \t"), arguments.strip(" \t\r\n"), ordinal),)


def _in_json(mode: str, depth: int, found: str) -> Step:
    if found == '"':
        return Step(Action.GO, mode + " string", depth)
    depth += 1 if found in "[{" else -1
    return Step(Action.GO, mode, depth) if depth else Step(Action.END, TEXT)


def _before_json(mode: str, found: str) -> Step:
    if mode == "begun":
        if found == "[":
            return Step(Action.GO, "array", depth=1)
        if found == "{":
            return Step(Action.END, TEXT, problem="not_an_array")
        return Step(Action.LOOK_AGAIN, "name")
    if mode == "name":
        if found == ARGUMENTS:
            return Step(Action.GO, "arguments")
        return Step(Action.END, TEXT, problem="arguments_marker_missing")
    if found == "{":
        return Step(Action.GO, "object", depth=1)
    return Step(Action.END, TEXT, problem="arguments_not_an_object")


def _calls_of_array(payload: str, ordinal: int) -> tuple[Call, ...]:
    try:
        spelled = elements(payload)
    except JSONRefused as refusal:
        return (unparsable(ordinal, refusal.code),)
    return tuple(call_in(element, number, _SHAPE) for number, element in enumerate(spelled, ordinal))
