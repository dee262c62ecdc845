"""Stable codes for what goes wrong on the way to a tool over HTTP."""

from typing import Final

import httpx2

REQUEST_TIMEOUT: Final = 408

_FAULTS: tuple[tuple[type[Exception], str], ...] = (
    (httpx2.ConnectTimeout, "connect_timeout"),
    (httpx2.PoolTimeout, "pool_timeout"),
    (httpx2.ConnectError, "connect_failed"),
    (httpx2.TimeoutException, "timeout"),
    (httpx2.NetworkError, "connection_lost"),
    (httpx2.ProtocolError, "protocol_error"),
    (httpx2.UnsupportedProtocol, "invalid_url"),
    (httpx2.InvalidURL, "invalid_url"),
)


def fault_code(error: Exception) -> str:
    """The code of an exception of the HTTP client; of any other one, a code made of its name."""
    for kind, code in _FAULTS:
        if isinstance(error, kind):
            return code
    return f"failed_{type(error).__name__.lower()}"


def is_unclear(status: int) -> bool:
    """Whether an HTTP status says neither that the call was done nor that it was refused (design.md, "Dispatch")."""
    return status < 200 or 300 <= status < 400 or status >= 500 or status == REQUEST_TIMEOUT
