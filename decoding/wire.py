"""Token events in the wire form of interface.md, ``Token events``: plain values, ready for JSON."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.drafters.base import Kind
from decoding.sink import TokenEvent


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its text; ``drafter`` names who proposed it, None for the target's own."""

    id: int
    text: str
    drafter: str | None = None

    def wire(self) -> dict[str, object]:
        """The token as it stands in events."""
        drafter = {} if self.drafter is None else {"drafter": self.drafter}
        return {"text": self.text, "id": self.id, **drafter}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an auditor needs to recompute a ruling. ``margin``: the smallest of the judged positions, in
    nats."""

    drafter: str
    kind: Kind
    tokenizer_digest: str
    drafts: tuple[int, ...]
    params_digest: str
    window: int
    draft_ms: float
    verify_ms: float
    margin: float


def drafted(branch: str, round_: int, start: int, tokens: Sequence[Token]) -> TokenEvent:
    """``tokens.drafted``."""
    return {
        "type": "tokens.drafted",
        "branch": branch,
        "round": round_,
        "start": start,
        "tokens": [token.wire() for token in tokens],
    }


def ruled(
    branch: str, round_: int, start: int, accepted: int, token: Token | None, judgement: Judgement
) -> TokenEvent:
    """``tokens.ruled`` over all drafts of ``judgement``. ``ruling_id`` is unique in the stream: heads only
    grow."""
    size = len(judgement.drafts)
    event: dict[str, object] = {
        "type": "tokens.ruled",
        "branch": branch,
        "round": round_,
        "start": start,
        "end": start + size,
        "accepted": accepted,
        "ruling_id": f"{branch}:{round_}:{start}",
        "rule": "match",
        "mode": "chain",
        "proposals": [
            {
                "drafter": judgement.drafter,
                "kind": judgement.kind,
                "tokenizer_digest": judgement.tokenizer_digest,
                "parent": list(range(-1, size - 1)),
                "ids": list(judgement.drafts),
            }
        ],
        "params_digest": judgement.params_digest,
        "window": judgement.window,
        "draft_ms": round(judgement.draft_ms, 3),
        "verify_ms": round(judgement.verify_ms, 3),
    }
    if math.isfinite(judgement.margin):
        event["min_margin"] = judgement.margin
    if token is not None:
        event["token"] = token.wire()
        event["target_source"] = "match" if accepted < size else "bonus"
    return event


def accepted(branch: str, round_: int, token: Token) -> TokenEvent:
    """``tokens.accepted``: one token of plain decoding, with nothing pending."""
    return {"type": "tokens.accepted", "branch": branch, "round": round_, "tokens": [token.wire()]}


def finished(reason: str) -> TokenEvent:
    """``stream.finished``."""
    return {"type": "stream.finished", "reason": reason}
