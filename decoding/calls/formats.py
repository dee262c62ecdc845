"""The tool-call formats by the name that a stream declares (interface.md, ``tool_calls.format``).

======================  =====================================================================
``hermes``              ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``
``llama3``              ``<|python_tag|>{"name": ..., "parameters": {...}}``, or without the tag
``mistral``             ``[TOOL_CALLS][{...}, ...]`` and ``[TOOL_CALLS]name[ARGS]{...}``
``qwen3_coder``         ``<tool_call><function=...><parameter=...>...``
======================  =====================================================================
"""

from decoding.calls.block import Detector
from decoding.calls.hermes import HermesDetector
from decoding.calls.llama3 import Llama3Grammar
from decoding.calls.mistral import MistralGrammar
from decoding.calls.qwen3_coder import Qwen3CoderGrammar
from decoding.calls.scanner import GrammarDetector, ScanState

_DETECTORS: dict[str, Detector[ScanState]] = {
    "hermes": HermesDetector(),
    "llama3": GrammarDetector(Llama3Grammar()),
    "mistral": GrammarDetector(MistralGrammar()),
    "qwen3_coder": GrammarDetector(Qwen3CoderGrammar()),
}

FORMATS = tuple(_DETECTORS)


class UnknownFormat(ValueError):
    """No detector is built for the format. ``code`` is stable."""

    code = "not_supported"


def detector_for(format: str) -> Detector[ScanState]:  # noqa: A002 - the interface's own word
    """The detector of ``format``, which everyone may share. Raises ``UnknownFormat`` where there is none."""
    detector = _DETECTORS.get(format)
    if detector is None:
        raise UnknownFormat(f"tool-call format {format[:80]!r} is not supported; known: {', '.join(FORMATS)}")
    return detector
