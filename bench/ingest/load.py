"""The load: streams of windows, each a draft of some tokens and the ruling on it, as a decoding loop writes them."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ledger.change import BatchReplay, Change
from ledger.events import EventType, NewEvent
from ledger.state import StreamState

WORDS = (
    " the", " order", "_id", '{"', '":', " W2378156", "78", "156", '"}', "<tool_call>", "</tool_call>",
    " please", "\n", "cancel", " because", " it", " was", " bought", " twice", " Grüße", "\\", '"', ",", ".",
)  # fmt: skip
WINDOWS_A_STREAM = 20
"""Windows after which a message ends and the next one begins: at 48 tokens about 700 accepted ones."""
PREPARED = 64

Decide = Callable[[StreamState], Change]


def opening() -> Decide:
    """What opens a stream."""
    payload = {
        "writer_epoch": 1,
        "format": "hermes",
        "from": "detected",
        "binding": {"kind": "single"},
        "branches": ["main"],
        "branches_mode": "agree",
    }
    return lambda _state: Change((NewEvent(EventType.STREAM_OPENED, payload),))


def ending() -> Decide:
    """What ends a stream."""
    return lambda _state: Change((NewEvent(EventType.STREAM_FINISHED, {"reason": "stop"}),))


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of ``size`` drafts, made beforehand from a seed so that making them is no part of what is measured."""

    size: int
    drafts: tuple[tuple[list[dict[str, object]], int], ...]
    with_replays: bool

    @classmethod
    def made(cls, size: int, seed: int, *, with_replays: bool) -> "Windows":
        """Half of the windows are accepted whole; of the others a part."""
        chance = random.Random(seed)
        drafts = tuple(
            (
                [
                    {"drafter": "small", "id": chance.randrange(152_000), "text": chance.choice(WORDS)}
                    for _ in range(size)
                ],
                size if chance.random() < 0.5 else chance.randrange(size),
            )
            for _ in range(PREPARED)
        )
        return cls(size, drafts, with_replays)

    def window(self, number: int) -> Decide:
        """The window of this number: its draft and the ruling on it, checked against the branch as it stands."""
        tokens, accepted = self.drafts[number % PREPARED]
        size = self.size

        def decide(state: StreamState) -> Change:
            branch = state.branches["main"]
            head = branch.head
            if branch.pending or state.finished is not None:
                raise RuntimeError("the load is out of step with its stream")
            drafted = {"round": branch.round, "start": head, "tokens": tokens}
            ruled = {
                "round": branch.round,
                "start": head,
                "end": head + size,
                "accepted": accepted,
                "token": {"id": 11, "text": " x"},
            }
            cut_at = None if accepted == size else head + accepted
            events = (
                NewEvent(EventType.TOKENS_DRAFTED, drafted, "main", head_after=head),
                NewEvent(
                    EventType.TOKENS_RULED, ruled, "main", head_after=head + accepted + 1, cut_at=cut_at
                ),
            )
            return Change(events, self._replay(number, state) if self.with_replays else ())

        return decide

    def singles(self, number: int) -> Decide:
        """As many events as the window has tokens, each accepting one, as plain decoding writes them."""
        tokens, _accepted = self.drafts[number % PREPARED]

        def decide(state: StreamState) -> Change:
            branch = state.branches["main"]
            events = tuple(
                NewEvent(
                    EventType.TOKENS_ACCEPTED,
                    {"round": branch.round, "tokens": [token]},
                    "main",
                    head_after=branch.head + place,
                )
                for place, token in enumerate(tokens, 1)
            )
            return Change(events)

        return decide

    def _replay(self, number: int, state: StreamState) -> tuple[BatchReplay, ...]:
        return (
            BatchReplay(
                batch_id=f"batch-{number}",
                body_digest=number.to_bytes(32, "big"),
                response=f'{{"seq":{state.seq + 2},"branches":{{"main":{{"head":0,"drafted_end":0,"round":0}}}},'
                '"intents":[]}',
            ),
        )
