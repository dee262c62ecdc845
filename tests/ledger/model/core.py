"""The real thing without a database: ``gateway.turn`` decides, ``ledger.fold`` folds."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import TypeVar

from effects.intent import ResultStatus
from effects.table import EffectTable
from gateway.errors import GatewayError
from gateway.turn import approving, dispatching
from gateway.turn.advance import advance
from gateway.turn.opening import StreamTerms, open_stream
from gateway.turn.posting import PostedIntent, post_intent
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from gateway.turn.tokens import TokenEvent, finish_stream, write_tokens
from gateway.turn.unfolding import Unfolding
from ledger.events import Event, EventType
from ledger.fold import fold, initial
from ledger.projection import ProjectionRows, rows
from ledger.state import StreamState
from tests.ledger.model.stream import IDLE, Said
from tests.ledger.model.tools import Policy, document

T = TypeVar("T")
TENANT, KEY = "t", "k"
OTHERS = "sha256:" + 64 * "0"
"""Digest of arguments that no call has."""


@cache
def in_force(policy: Policy) -> TableInForce:
    return TableInForce(1, EffectTable.parse(document(policy)))


def token_event(said: Said) -> TokenEvent:
    body = {name: value for name, value in said.items() if name not in ("type", "branch")}
    return TokenEvent(EventType(str(said["type"])), body, str(said.get("branch", "main")))


def posted_intent(said: Said) -> PostedIntent:
    start, stop = said["span"]  # type: ignore[misc]
    named = {name: said[name] for name in ("branch", "round", "ordinal", "tool", "arguments")}
    return PostedIntent(start=start, end=stop, call_id=said.get("call_id"), **named)  # type: ignore[arg-type]


def end_if_silent(unfolding: Unfolding, force: TableInForce) -> None:
    """As the sweep of a dispatcher decides it."""
    state = unfolding.state
    silent_since = state.last_writer_at
    if state.finished is None and silent_since is not None and unfolding.now - silent_since >= IDLE:
        finish_stream(unfolding, "error")
        advance(unfolding, force)


class Core:
    """One stream. What is refused leaves no trace, and answers with the code."""

    replays_batches = False

    def __init__(self, policy: Policy, source: str, lanes: tuple[str, ...], now: datetime) -> None:
        self.force = in_force(policy)
        self.state: StreamState = initial(TENANT, KEY)
        self.log: list[Event] = []
        self._scanner = BlockScanner()
        self._projected: dict[str, dict[str, object]] = {}
        terms = StreamTerms(source=source, branches=lanes, branches_mode="disjoint")
        self._decide(now, lambda unfolding: open_stream(unfolding, terms))

    def take_over(self, now: datetime) -> None:
        self._decide(now, lambda unfolding: open_stream(unfolding, StreamTerms()))

    def reopen(self, terms: StreamTerms, now: datetime) -> str | None:
        return self._refusable(now, lambda unfolding: open_stream(unfolding, terms))

    def write(self, epoch: int, events: list[Said], now: datetime) -> str | None:
        told = [token_event(said) for said in events]
        return self._refusable(now, lambda u: write_tokens(u, epoch, told, self._scanner, self.force))

    def replay(self, epoch: int, events: list[Said], now: datetime, *, same_body: bool) -> str:
        """Batches are remembered by the service, which is not here."""
        raise NotImplementedError

    def post(self, said: Said, now: datetime) -> str:
        replayed = False

        def decide(unfolding: Unfolding) -> None:
            nonlocal replayed
            _, replayed = post_intent(unfolding, posted_intent(said), self._scanner, self.force)

        return self._refusable(now, decide) or ("replay" if replayed else "held")

    def claim(self, intent_id: str, now: datetime) -> bool:
        sent = self._decide(
            now, lambda u: dispatching.claim(u, self.force, intent_id, worker="w", epoch=1), settle=False
        )
        return sent is not None

    def answer(
        self, intent_id: str, attempt: int, status: str, content: object, now: datetime, *, unsent: bool
    ) -> bool:
        outcome = dispatching.Outcome(ResultStatus(status), content, unsent=unsent)
        return self._decide(now, lambda u: dispatching.settle(u, self.force, intent_id, attempt, outcome))

    def lose(self, intent_id: str, attempt: int, retry_after: float, now: datetime) -> bool:
        told = {"because": "lost", "retry_after": retry_after}
        return self._decide(now, lambda u: dispatching.lose(u, self.force, intent_id, attempt, **told))  # type: ignore[arg-type]

    def resolve(self, intent_id: str, happened: bool, now: datetime) -> str | None:
        told = {"happened": happened, "reason": "seen", "by": "p"}
        return self._refusable(
            now,
            lambda u: dispatching.resolve(u, self.force, u.intent(intent_id), **told),  # type: ignore[arg-type]
        )

    def approve(self, intent_id: str, now: datetime, *, of_others: bool) -> str | None:
        digest = OTHERS if of_others else None
        return self._refusable(
            now,
            lambda u: approving.approve(
                u, self.force, u.intent(intent_id), by="p", note="n", arguments_digest=digest
            ),
        )

    def deny(self, intent_id: str, now: datetime, *, of_others: bool) -> str | None:
        digest = OTHERS if of_others else None
        return self._refusable(
            now,
            lambda u: approving.deny(u, u.intent(intent_id), by="p", reason="no", arguments_digest=digest),
        )

    def fall_silent(self, now: datetime) -> None:
        self._decide(now, lambda u: end_if_silent(u, self.force), settle=False)

    def settle_down(self, now: datetime) -> None:
        self._decide(now, lambda _unfolding: None)

    def check(self) -> None:
        """Folded event by event as they are stored: the same state, and the same rows as were written on the way."""
        again = initial(TENANT, KEY)
        for event in self.log:
            again = fold(again, as_stored(event))
        if again != self.state:
            raise AssertionError(f"folded again it is another state:\n{again}\n{self.state}")
        rebuilt = _by_name(rows(initial(TENANT, KEY), again))
        if rebuilt != self._projected:
            raise AssertionError(f"rebuilt rows differ:\n{rebuilt}\n{self._projected}")

    def _refusable(self, now: datetime, decide: Callable[[Unfolding], object]) -> str | None:
        try:
            self._decide(now, decide)
        except GatewayError as refused:
            return refused.stable_code
        return None

    def _decide(self, now: datetime, decide: Callable[[Unfolding], T], *, settle: bool = True) -> T:
        unfolding = Unfolding(self.state, now)
        answer = decide(unfolding)
        if settle:
            advance(unfolding, self.force)
        self.log += [
            Event(self.state.seq + place, now, e.type, e.payload, e.branch, e.intent_id, e.attempt)
            for place, e in enumerate(unfolding.events, 1)
        ]
        self._projected |= _by_name(rows(self.state, unfolding.state))
        self.state = unfolding.state
        return answer


def as_stored(event: Event) -> Event:
    """With its payload written and read back."""
    payload = json.loads(json.dumps(event.payload))
    return Event(event.seq, event.at, event.type, payload, event.branch, event.intent_id, event.attempt)


def _by_name(made: ProjectionRows) -> dict[str, dict[str, object]]:
    return {str(row["intent_id"]): dict(row) for row in made.intents}
