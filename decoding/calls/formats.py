"""The tool-call formats by the name that a stream declares (interface.md, ``tool_calls.format``)."""

from decoding.calls.block import Detector
from decoding.calls.hermes import HermesDetector, HermesState

FORMATS = ("hermes",)


class UnknownFormat(ValueError):
    """No detector is built for the format. ``code`` is stable."""

    code = "not_supported"


def detector_for(format: str) -> Detector[HermesState]:  # noqa: A002 - the interface's own word
    """The detector of ``format``. Raises ``UnknownFormat`` where there is none."""
    if format == "hermes":
        return HermesDetector()
    raise UnknownFormat(f"tool-call format {format[:80]!r} is not supported; known: {', '.join(FORMATS)}")
