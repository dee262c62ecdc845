"""What the client asks, without asking it: flows that yield a request and are given the answer.

The same flow runs under ``synchronous`` and ``asynchronous``; only there something waits.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gateway.client.errors import GatewayRefused
from gateway.wire.base import JSONObject

T = TypeVar("T")

AGAIN = frozenset({502, 503, 504})
"""Statuses after which the same request may be sent again: every request here is safe to repeat."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. ``patience``: seconds that the gateway may take before it answers."""

    method: str
    path: str
    body: Mapping[str, object] | None = None
    query: Mapping[str, str | int | float] = field(default_factory=dict)
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer: its HTTP status and its JSON body."""

    status: int
    body: JSONObject

    @property
    def worth_repeating(self) -> bool:
        """Whether the same request may succeed in a moment."""
        return self.status in AGAIN or self.body.get("code") == "contention"


Flow = Generator[Ask, Heard, T]


def ask(question: Ask) -> Flow[JSONObject]:
    """The body of the answer. Raises ``GatewayRefused``."""
    heard = yield question
    if heard.status >= 400:
        raise GatewayRefused(heard.status, heard.body)
    return heard.body
