"""Call blocks of Llama 3.1 to 3.3: ``{"name": ..., "parameters": {...}}``, with or without ``<|python_tag|>`` before it,
several with ``;`` between them (Meta's model cards, "JSON based tool calling").

There is no closing delimiter: a block ends with the brace that closes its object, so it is known at once. A block
begins with the tag; with the object where that is the first thing of the message, white space aside; and with the
object behind a ``;`` that follows a block. An object without a tag is text, not a call, where it parses and has neither
``name`` nor ``parameters``: models answer in JSON too. ``"type": "function"`` is allowed beside the two.

Behind a tag something else than an object (built-in tools, Python code) ends the block at its first character as
``not_an_object``.
"""

import re

from decoding.calls.block import Call
from decoding.calls.grammar import STRING, TEXT, Action, Mode, Step, in_string
from decoding.calls.payload import Shape, call_in
from effects.strict_json import JSONRefused, members

TAG = "<|python_tag|>"

_SHAPE = Shape(arguments="parameters", beside=frozenset({"type"}))
_SOMETHING = re.compile(r"[^ \t\r\n]")
_MODES = {
    "start": Mode(_SOMETHING),
    TEXT: Mode(re.compile(re.escape(TAG)), (TAG,)),
    "tagged": Mode(re.compile(re.escape(TAG) + r"|[^ \t\r\n]"), (TAG,)),
    "object": Mode(re.compile(re.escape(TAG) + r'|["{}]'), (TAG,)),
    "string": STRING,
    "after": Mode(_SOMETHING),
    "next": Mode(_SOMETHING),
}


class Llama3Grammar:
    """``Grammar`` of the Llama 3 form."""

    start = "start"

    def mode(self, name: str) -> Mode:
        """Outside of blocks there are four: the message's start, text, behind a block, behind its ``;``."""
        return _MODES[name]

    def met(self, mode: str, depth: int, found: str) -> Step:
        """Braces count outside of strings only."""
        if mode == "string":
            return in_string(found, "object", depth, mode)
        if mode == TEXT:
            return Step(Action.BEGIN, "tagged")
        if mode == "object":
            return _in_object(depth, found)
        if mode == "tagged":
            return _behind_tag(found)
        if mode == "after" and found == ";":
            return Step(Action.GO, "next")
        if mode != "after" and found == "{":
            return Step(Action.BEGIN, "object", depth=1)
        return Step(Action.LOOK_AGAIN, TEXT)

    def calls(self, spelled: str, ordinal: int) -> tuple[Call, ...] | None:
        """The one call of the object; None where the object is no call."""
        payload = spelled.removeprefix(TAG)
        if payload is spelled and _is_answer(payload):
            return None
        return (call_in(payload, ordinal, _SHAPE),)


def _in_object(depth: int, found: str) -> Step:
    if found == TAG:
        return Step(Action.END_BEFORE, TEXT, problem="opener_inside_block")
    if found == '"':
        return Step(Action.GO, "string", depth)
    depth += 1 if found == "{" else -1
    return Step(Action.GO, "object", depth) if depth else Step(Action.END, "after")


def _behind_tag(found: str) -> Step:
    if found == TAG:
        return Step(Action.END_BEFORE, TEXT, problem="opener_inside_block")
    if found == "{":
        return Step(Action.GO, "object", depth=1)
    return Step(Action.END, TEXT, problem="not_an_object")


def _is_answer(payload: str) -> bool:
    try:
        names = {member.name for member in members(payload)}
    except JSONRefused:
        return False
    return not names & {"name", "parameters"}
