"""What can be set of the HTTP front."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Limits and names of one HTTP front.

    ``hosts``: names or addresses, without ports, that the ``Host`` header may name beside those of loopback.
    ``origins``: origins (``scheme://host[:port]``) of web pages that may call, beside the gateway's own.
    ``body_limit``: bytes of a request body. ``threads``: service calls at one time. ``poll_seconds``: how often a
    waiting request looks again. ``tenant``: the one that everybody acts in while no keys exist, which ``may_open`` allows.
    ``live_streams``: live event streams at one time; each hears of something at least every ``heartbeat_seconds``, and ends
    if it takes nothing for ``send_seconds``. ``mcp_wait_seconds``: how long a ``tools/call`` waits for its answer.
    """

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    body_limit: int = 4 * 1024 * 1024
    threads: int = 64
    poll_seconds: float = 0.03
    tenant: str = "default"
    may_open: bool = True
    live_streams: int = 512
    heartbeat_seconds: float = 15.0
    send_seconds: float = 30.0
    mcp_wait_seconds: float = 50.0
