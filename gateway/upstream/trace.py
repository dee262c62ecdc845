"""Trace context of a call to a tool (W3C Trace Context, section 3.2)."""

import secrets


def fresh_traceparent() -> str:
    """The ``traceparent`` of a new trace: fresh trace and span ids, sampled."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
