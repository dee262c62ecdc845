"""A runtime and its decoder: they draft, rule and end one message through gateways that may die under them."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from gateway.errors import Conflict
from gateway.principal import everyone
from gateway.service.streams import Streams
from gateway.turn.opening import StreamTerms
from gateway.turn.tokens import TokenEvent
from ledger.errors import LedgerError
from ledger.events import EventType
from ledger.state import Branch
from tests.equivalence.simulation import Drafts, Message
from tests.simulation.gateways import Gateways
from tests.simulation.process import Killed
from tests.simulation.store import TENANT, Store

T = TypeVar("T")
REASONS = ("budget_spent", "speculation_stopped")
WHO = everyone(TENANT)


@dataclass
class Habits:
    """``leaves``: chance at each step that nobody writes any more; ``breaks``: that the stream ends in error; ``hurry``:
    longest pause between two steps, in seconds."""

    leaves: float
    breaks: float
    takes_over: float
    hurry: float
    wrongness: float

    @staticmethod
    def draw(random: Random) -> "Habits":
        return Habits(
            leaves=random.choice([0.0, 0.0, 0.02]),
            breaks=random.choice([0.0, 0.0, 0.03]),
            takes_over=random.choice([0.0, 0.05]),
            hurry=random.choice([0.1, 1.0, 4.0]),
            wrongness=random.choice([0.0, 0.05, 0.2, 0.4]),
        )


class Writer:
    """Writes ``message`` under ``commit_key``; gateways are asked until one answers. ``heard``: why calls were held, as the
    answers say."""

    def __init__(
        self,
        commit_key: str,
        message: Message,
        store: Store,
        chance: Random,
        gateways: Gateways,
        fork_of: str | None = None,
    ) -> None:
        self.commit_key = commit_key
        self.fork_of = fork_of
        self.heard: Counter[str] = Counter()
        self.message = message
        self._store = store
        self._chance = chance
        self._gateways = gateways
        self._habits = Habits.draw(chance)
        self._drafts = Drafts(message, chance, self._habits.wrongness)
        self._epoch = 0
        self._batch = 0

    async def run(self) -> None:
        chance, habits = self._chance, self._habits
        if self.fork_of is not None:
            await self._await_origin(self.fork_of)
        await self._open()
        while True:
            await asyncio.sleep(chance.random() * habits.hurry)
            if chance.random() < habits.leaves:
                return
            if chance.random() < habits.takes_over:
                await self._open()
            if chance.random() < habits.breaks:
                await self._write(_ended(chance.choice(["error", "cancelled", "length"])))
                return
            main = self._store.read(self.commit_key).branches["main"]
            if self._store.read(self.commit_key).finished is not None:
                return
            if main.head == len(self.message.tokens):
                await self._write(_ended("stop"))
                return
            await self._write(self._next(main))

    async def _await_origin(self, fork_of: str) -> None:
        await asyncio.sleep(self._chance.uniform(0, 10))
        while not self._store.read(fork_of).exists:
            await asyncio.sleep(1)

    async def _open(self) -> None:
        terms = StreamTerms(format="hermes", source="detected", fork_of=self.fork_of)
        view, _new = await self._insist(lambda streams: streams.open(WHO, self.commit_key, terms))
        self._epoch = int(str(view["writer_epoch"]))

    async def _write(self, event: TokenEvent) -> None:
        self._batch += 1
        name, raw = f"b{self._batch}", json.dumps([event.type, event.payload], default=str).encode()
        try:
            told = await self._insist(
                lambda streams: streams.write(
                    WHO, self.commit_key, self._epoch, [event], batch_id=name, raw_body=raw
                )
            )
        except Conflict:
            # It fell silent for so long that the stream was ended.
            assert self._store.read(self.commit_key).finished is not None
            return
        for reason in REASONS:
            self.heard[f"held: {reason}"] += f'"reason": "{reason}"' in told.body

    async def _insist(self, ask: Callable[[Streams], T]) -> T:
        while True:
            try:
                return self._gateways.ask(lambda gateway: ask(gateway.streams))
            except (Killed, LedgerError):
                await asyncio.sleep(self._chance.random())

    def _next(self, main: Branch) -> TokenEvent:
        chance, tokens = self._chance, self.message.tokens
        total = len(tokens)
        if not main.pending and chance.random() < 0.3:
            spoken = tokens[main.head : main.head + chance.randint(1, 8)]
            return TokenEvent(EventType.TOKENS_ACCEPTED, {"round": main.round, "tokens": _spelled(spoken)})
        if main.drafted_end < total and (not main.pending or chance.random() < 0.6):
            proposed = self._drafts.propose(main.drafted_end, chance.randint(1, 20))
            body = {"round": main.round, "start": main.drafted_end, "tokens": _spelled(proposed)}
            return TokenEvent(EventType.TOKENS_DRAFTED, body)
        return self._ruling(main, chance.randint(1, len(main.pending)))

    def _ruling(self, main: Branch, judged: int) -> TokenEvent:
        true = self.message.tokens[main.head :]
        accepted = 0
        while accepted < judged and main.pending[accepted].text == true[accepted]:
            accepted += 1
        body: dict[str, Any] = {
            "round": main.round,
            "start": main.head,
            "end": main.head + judged,
            "accepted": accepted,
        }
        if accepted < len(true) and (accepted < judged or self._chance.random() < 0.5):
            body["token"] = {"text": true[accepted]}
        return TokenEvent(EventType.TOKENS_RULED, body)


def _spelled(tokens: Any) -> list[dict[str, str]]:
    return [{"text": text} for text in tokens]


def _ended(reason: str) -> TokenEvent:
    return TokenEvent(EventType.STREAM_FINISHED, {"reason": reason})
