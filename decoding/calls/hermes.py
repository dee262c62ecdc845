"""Call blocks in Hermes form: ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>`` (design.md, "call
block"; the chat templates of Hermes 2 Pro and Qwen 2.5).

Two problems end a block before its closing delimiter: ``control_character_in_string`` and
``opener_inside_block``; the others are those of its payload (``decoding.calls.payload``). Text outside blocks, stray
closers too, is ignored.
"""

import json
import re
from collections.abc import Mapping

from decoding.calls.block import Call
from decoding.calls.grammar import STRING, TEXT, Action, Mode, Step, in_string
from decoding.calls.payload import call_in
from decoding.calls.scanner import GrammarDetector, ScanState

OPENER = "<tool_call>"
CLOSER = "</tool_call>"

_MODES = {
    TEXT: Mode(re.compile(OPENER), (OPENER,)),
    "block": Mode(re.compile(f'"|{OPENER}|{CLOSER}'), (OPENER, CLOSER)),
    "string": STRING,
}

HermesState = ScanState


def spelled(tool: str, arguments: Mapping[str, object]) -> str:
    """A call as this form spells it. Raises ``TypeError`` or ``ValueError`` for what JSON does not have."""
    body = {"name": tool, "arguments": dict(arguments)}
    return f"{OPENER}\n{json.dumps(body, ensure_ascii=False, allow_nan=False)}\n{CLOSER}"


class HermesGrammar:
    """``Grammar`` of the Hermes form."""

    start = TEXT

    def mode(self, name: str) -> Mode:
        """One of three: outside of blocks, in a block, in a JSON string of a block."""
        return _MODES[name]

    def met(self, mode: str, depth: int, found: str) -> Step:
        """Delimiters count outside of strings only."""
        if mode == "string":
            return in_string(found, "block", depth, mode)
        if mode == TEXT:
            return Step(Action.BEGIN, "block")
        if found == '"':
            return Step(Action.GO, "string")
        if found == OPENER:
            return Step(Action.END_BEFORE, TEXT, problem="opener_inside_block")
        return Step(Action.END, TEXT)

    def calls(self, spelled: str, ordinal: int) -> tuple[Call, ...]:
        """The one call between the delimiters."""
        return (call_in(spelled[len(OPENER) : -len(CLOSER)], ordinal),)


class HermesDetector(GrammarDetector):
    """``Detector[HermesState]``."""

    def __init__(self) -> None:
        """Hermes has no variants."""
        super().__init__(HermesGrammar())
