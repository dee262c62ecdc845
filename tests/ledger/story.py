"""Events of a small turn, made by hand: a stream, one call block, its rulings, its dispatch."""

from ledger.append import Change
from ledger.events import EventType, NewEvent
from ledger.state import StreamState

KEY = "turn-1"
INTENT = "i1"
START, END = 2, 6


def opened(*branches: str) -> NewEvent:
    payload = {
        "writer_epoch": 1,
        "format": "hermes",
        "from": "posted",
        "binding": {"kind": "single"},
        "branches_mode": "agree",
        "branches": list(branches) or ["main"],
    }
    return NewEvent(EventType.STREAM_OPENED, payload)


def drafted(start: int, count: int, round_: int = 0, branch: str = "main") -> NewEvent:
    tokens = [
        {"text": f"t{place} ", "id": place, "drafter": "small"} for place in range(start, start + count)
    ]
    return NewEvent(
        EventType.TOKENS_DRAFTED, {"round": round_, "start": start, "tokens": tokens}, branch=branch
    )


def ruled(start: int, end: int, accepted: int, own: bool = False, branch: str = "main") -> NewEvent:
    payload = {"round": 0, "start": start, "end": end, "accepted": accepted}
    if own:
        payload["token"] = {"text": "own "}
    cut = start + accepted if accepted < end - start else None
    return NewEvent(
        EventType.TOKENS_RULED, payload, branch=branch, head_after=start + accepted + own, cut_at=cut
    )


def accepted(start: int, count: int) -> NewEvent:
    tokens = [{"text": f"a{place} "} for place in range(count)]
    return NewEvent(
        EventType.TOKENS_ACCEPTED, {"round": 0, "tokens": tokens}, branch="main", head_after=start + count
    )


def held(
    effect: str = "WRITE", *, closed_seq: int = 2, intent_id: str = INTENT, branch: str = "main"
) -> NewEvent:
    payload = {
        "intent_id": intent_id,
        "round": 0,
        "span": [START, END],
        "ordinal": 0,
        "byte_start": 0,
        "byte_end": 10,
        "closed_seq": closed_seq,
        "tool": "cancel_order",
        "arguments_raw": '{"order_id":"W1"}',
        "arguments_digest": "sha256:00",
        "effect": effect,
        "effect_version": 1,
        "footprint": {"reads": [], "writes": ["order:W1"], "upstream": None},
    }
    return NewEvent(EventType.INTENT_HELD, payload, branch=branch, intent_id=intent_id)


def released(effect: str = "WRITE") -> NewEvent:
    payload = {"intent_id": INTENT, "release": "committed", "effect": effect, "effect_version": 1}
    return NewEvent(EventType.INTENT_RELEASED, payload, branch="main", intent_id=INTENT)


def started(attempt: int = 1, effect: str = "WRITE") -> NewEvent:
    payload = {"intent_id": INTENT, "attempt": attempt, "worker": "w1", "epoch": 1, "effect": effect}
    return NewEvent(EventType.DISPATCH_STARTED, payload, branch="main", intent_id=INTENT, attempt=attempt)


def settled(attempt: int = 1, *, unsent: bool = False) -> NewEvent:
    status = "unavailable" if unsent else "ok"
    payload = {
        "intent_id": INTENT,
        "attempt": attempt,
        "status": status,
        "unsent": unsent,
        "content": {"n": 1},
    }
    return NewEvent(EventType.DISPATCH_SETTLED, payload, branch="main", intent_id=INTENT, attempt=attempt)


def these(*events: NewEvent):
    """A decision that is the same whatever the state."""

    def decide(_state: StreamState) -> Change:
        return Change(events)

    return decide
