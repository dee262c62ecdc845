"""Call blocks of Qwen3-Coder (its chat template)::

    <tool_call>
    <function=NAME>
    <parameter=KEY>
    VALUE
    </parameter>
    </function>
    </tool_call>

White space between the tags counts for nothing. A value is the text between its tags without one line end at either side,
exactly as it stands: nothing is unescaped and nothing typed. The form has no JSON, so ``arguments_raw`` is made here: the
canonical JSON (RFC 8785) of an object with every value as a *string*, in which each byte is one of the accepted text or
follows from it. Which of them a tool wants as a number only its schema knows; whoever has the effect table types them
(``effects.typed_texts``). ``Call.built`` says that these bytes are not in the text.

The form cannot escape its own tags. Inside a value only ``</parameter>`` counts, so a block is not ended, and none begun,
by what a value quotes; but a value that holds a tag of the form is refused (``tag_in_value``), since a forgotten
``</parameter>`` looks the same. Outside values an opener ends the block (``opener_inside_block``).

Further problems: ``xml_syntax``, ``name_empty``, ``name_with_nul``, ``parameter_name_empty``, ``json_duplicate_name`` (one
parameter twice), ``json_surrogate``. None leaves the call its tool's name.
"""

import re

from decoding.calls.block import Call
from decoding.calls.grammar import TEXT, Action, Mode, Step
from decoding.calls.hermes import CLOSER, OPENER
from decoding.calls.payload import name_problem, unparsable
from effects.canonical import canonical
from effects.strict_json import JSONRefused

PARAMETER = "<parameter="
END_OF_VALUE = "</parameter>"

_MODES = {
    TEXT: Mode(re.compile(OPENER), (OPENER,)),
    "block": Mode(re.compile(f"{OPENER}|{CLOSER}|{PARAMETER}"), (OPENER, CLOSER, PARAMETER)),
    "key": Mode(re.compile(r"[<>\n]")),
    "value": Mode(re.compile(END_OF_VALUE), (END_OF_VALUE,)),
}
_WHITESPACE = " \t\r\n"
_FUNCTION = re.compile(rf"[{_WHITESPACE}]*<function=([^<>\n]*)>(.*)</function>[{_WHITESPACE}]*", re.DOTALL)
_ARGUMENT = re.compile(rf"[{_WHITESPACE}]*<parameter=([^<>\n]*)>(.*?)</parameter>", re.DOTALL)
_TAG = re.compile(r"</?tool_call>|<function=|</function>|<parameter=")


class Qwen3CoderGrammar:
    """``Grammar`` of the Qwen3-Coder form."""

    start = TEXT

    def mode(self, name: str) -> Mode:
        """Outside of blocks, between tags, in the name of a parameter, in its value."""
        return _MODES[name]

    def met(self, mode: str, depth: int, found: str) -> Step:  # noqa: ARG002 - nothing nests here
        """A value hides everything up to its end."""
        if mode == TEXT:
            return Step(Action.BEGIN, "block")
        if mode == "key":
            return Step(Action.GO, "value") if found == ">" else Step(Action.LOOK_AGAIN, "block")
        if mode == "value":
            return Step(Action.GO, "block")
        if found == PARAMETER:
            return Step(Action.GO, "key")
        if found == OPENER:
            return Step(Action.END_BEFORE, TEXT, problem="opener_inside_block")
        return Step(Action.END, TEXT)

    def calls(self, spelled: str, ordinal: int) -> tuple[Call, ...]:
        """The one call between the delimiters."""
        return (_call(spelled[len(OPENER) : -len(CLOSER)], ordinal),)


def _call(payload: str, ordinal: int) -> Call:
    function = _FUNCTION.fullmatch(payload)
    pairs = None if function is None else _arguments(function[2])
    if function is None or pairs is None:
        return unparsable(ordinal, "xml_syntax")
    name = function[1]
    problem = name_problem(name)
    if problem is not None:
        return unparsable(ordinal, problem)
    if any(_TAG.search(value) for _, value in pairs):
        return unparsable(ordinal, "tag_in_value")
    if not all(key for key, _ in pairs):
        return unparsable(ordinal, "parameter_name_empty")
    try:
        name.encode()
        raw = canonical(dict(pairs)).decode()
    except (JSONRefused, UnicodeEncodeError):
        return unparsable(ordinal, "json_surrogate")
    repeated = len({key for key, _ in pairs}) < len(pairs)
    if repeated:
        return unparsable(ordinal, "json_duplicate_name")
    return Call(ordinal, name, raw, built=True)


def _arguments(body: str) -> list[tuple[str, str]] | None:
    """The parameters in their order; None where something else stands between them."""
    pairs: list[tuple[str, str]] = []
    at = 0
    while (argument := _ARGUMENT.match(body, at)) is not None:
        pairs.append((argument[1], _without_line_ends(argument[2])))
        at = argument.end()
    return pairs if not body[at:].strip(_WHITESPACE) else None


def _without_line_ends(value: str) -> str:
    return value.removeprefix("\n").removesuffix("\n")
