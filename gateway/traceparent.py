"""Trace context as callers send it (W3C Trace Context, section 3.2). Pure."""

import re
from typing import Final

TRACE_LABEL: Final = "traceparent"
"""Label of a stream that holds the trace context of the request that opened it."""

_SHAPE = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<ids>(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(?P<more>-.*)?"
)
_FORBIDDEN, _OURS = "ff", "00"


def parsed_traceparent(text: str | None) -> str | None:
    """The trace context in version 00; None where there is none or it is not valid: the trace then begins here.

    What a later version adds behind the flags is left out, as the specification says (section 3.2.4).
    """
    found = None if text is None else _SHAPE.fullmatch(text.strip())
    if found is None or found["version"] == _FORBIDDEN or (found["version"] == _OURS and found["more"]):
        return None
    return f"{_OURS}-{found['ids']}"
