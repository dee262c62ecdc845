r"""How a hosted message is spelled in tokens: text as text, calls as Hermes blocks, and no way from one to the other.

- Text in which the model itself writes an opener stays text: ``<tool_call>`` becomes ``<tool_call\>``, and one that has
  backslashes there already gets one more, so that ``unescaped`` gives back exactly what the model said.
- Arguments that are one JSON object stand verbatim; half a character in them stands as its escape, for the detector to refuse
  (``json_surrogate``). Anything else (cut off, malformed, two objects in a row, no JSON at all)
  stands as one JSON *string*: it cannot end its block or begin another, the detector refuses it
  (``arguments_not_an_object``), and what came is there to read. Nothing is repaired.
- A call that the stream did not end is spelled without its end, as a string that is never closed: the stream ends inside
  the block.
"""

import json
import re

from decoding.calls.hermes import CLOSER, OPENER
from effects.strict_json import JSONRefused, members, parse

_SPOKEN = re.compile(r"<tool_call(\\*)>")
_ESCAPED = re.compile(r"<tool_call(\\*)\\>")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NO_OBJECT = frozenset({"json_syntax", "json_too_deep", "json_not_an_object"})
_WHITESPACE = " \t\r\n"


def escaped(text: str) -> str:
    """``text`` with its openers made harmless. It has to be whole: a cut inside an opener would hide it."""
    return _SPOKEN.sub(r"<tool_call\1\\>", text)


def unescaped(text: str) -> str:
    """What the model said."""
    return _ESCAPED.sub(r"<tool_call\1>", text)


def is_object(arguments: str) -> bool:
    """Whether the arguments are the text of one JSON object, and nothing more. Values are not judged here."""
    try:
        members(arguments)
    except JSONRefused as refusal:
        return refusal.code not in _NO_OBJECT
    return True


def spelled_call(name: str, arguments: str, *, whole: bool = True) -> str:
    """The block of a call; ``whole`` False: its arguments are not to be taken for an object, whatever they look like."""
    body = _verbatim(arguments) if whole and is_object(arguments) else None
    body = json.dumps(arguments) if body is None else body
    return f'{OPENER}{{"name": {json.dumps(name)}, "arguments": {body}}}{CLOSER}'


def spelled_open(name: str, arguments: str) -> str:
    """The beginning of a call that was never ended."""
    return f'{OPENER}{{"name": {json.dumps(name)}, "arguments": {json.dumps(arguments)[:-1]}'


def _verbatim(arguments: str) -> str | None:
    """An object as a token can carry it; None: it cannot be said so that it is still refused."""
    stripped = arguments.strip(_WHITESPACE)
    if not _SURROGATE.search(stripped):
        return stripped
    escaped = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", stripped)
    try:
        parse(escaped)
    except JSONRefused:
        return escaped
    # Behind an escaped first half, the escape of a second one would make a character of both.
    return None


def joined(text: str) -> str:
    """``text`` with halves of characters that stand together joined; lone ones stay, for arguments are never repaired."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def characters(text: str) -> str:
    """``text`` with halves of characters that stand together joined, and lone ones replaced by U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
