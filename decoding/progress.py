"""What a loop tells an observer while it runs: the same facts as its token events, with texts on both sides
of a cut."""

from dataclasses import dataclass
from typing import Literal

from decoding.wire import Token

FinishReason = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Drafted:
    """``tokens`` were drafted from position ``start`` on; nothing has ruled on them yet."""

    round: int
    start: int
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Ruled:
    """The ruling on the drafts from ``start`` on: ``accepted``, then ``rejected``; ``token`` is the target's
    own.

    ``token`` stands at the cut, or behind the last draft where none was rejected; None where the last
    accepted draft ended the message. ``margin``: the smallest gap (nats) by which a judged token won.
    """

    round: int
    start: int
    accepted: tuple[Token, ...]
    rejected: tuple[Token, ...]
    token: Token | None
    margin: float
    draft_ms: float
    verify_ms: float


@dataclass(frozen=True, slots=True)
class Accepted:
    """The target's own ``token`` at position ``start`` with nothing drafted: plain decoding."""

    round: int
    start: int
    token: Token
    margin: float


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn is over."""

    reason: FinishReason


LoopEvent = Drafted | Ruled | Accepted | Finished
