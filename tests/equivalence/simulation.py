"""One message decided by the pure core against a world, with a seeded schedule of drafts, rulings and latencies."""

import heapq
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from decoding.calls.hermes import HermesDetector
from decoding.calls.scan import scan
from effects.classes import EffectClass
from effects.intent import IntentState
from effects.table import EffectTable
from gateway.errors import WrongRound
from gateway.turn.dispatching import MAX_ATTEMPTS
from gateway.turn.tables import TableInForce
from gateway.turn.tokens import TokenEvent
from ledger.events import EventType
from ledger.state import Intent
from tests.equivalence.worlds import Call, Setting, World
from tests.gateway.turn.desk import Desk, spell


@dataclass(frozen=True)
class Message:
    """What the target says: its calls in order, and its tokens."""

    calls: tuple[Call, ...]
    tokens: tuple[str, ...]


def draw_message(random: Random, setting: Setting) -> Message:
    return spelled_out(random, tuple(setting.draw(random) for _ in range(random.randint(1, 6))))


def spelled_out(random: Random, calls: tuple[Call, ...]) -> Message:
    """These calls with something said between them, cut into tokens."""
    text = "".join(random.choice(["", "ok ", "\n"]) + spell(tool, **arguments) for tool, arguments in calls)
    tokens, at = [], 0
    while at < len(text):
        size = random.randint(1, 14)
        tokens.append(text[at : at + size])
        at += size
    return Message(calls, tuple(tokens))


def serially(message: Message, setting: Setting) -> tuple[list[object], object]:
    """Answers and final state of running the calls one by one."""
    world = setting.begin()
    return [world.act(tool, arguments) for tool, arguments in message.calls], world.snapshot()


@dataclass
class Drafts:
    """A drafter that is wrong now and then: it replaces a token by one of the same length."""

    message: Message
    random: Random
    wrongness: float

    def propose(self, start: int, count: int) -> list[str]:
        out = []
        for true in self.message.tokens[start : start + count]:
            wrong = self.random.random() < self.wrongness
            out.append(self._spoiled(true) if wrong else true)
        return out

    def _spoiled(self, token: str) -> str:
        at = self.random.randrange(len(token))
        swap = {"a": "b", "x": "y", "y": "z", "p": "q", "q": "r", "r": "p"}
        old = token[at]
        new = str((int(old) + 1) % 10) if old.isdigit() else swap.get(old, old)
        return token[:at] + new + token[at + 1 :]


@dataclass(order=True)
class _Due:
    at: float
    n: int
    what: str = field(compare=False)
    intent: Intent | None = field(compare=False, default=None)
    attempt: int = field(compare=False, default=0)
    answer: object = field(compare=False, default=None)


class Simulation:
    """Runs one message to its end. ``counts`` says what the schedule provoked."""

    def __init__(self, message: Message, setting: Setting, random: Random, force: TableInForce) -> None:
        self.message = message
        self.random = random
        self._setting = setting
        self.world: World = setting.begin()
        self.desk = Desk(force)
        self.drafts = Drafts(message, random, random.choice([0.0, 0.05, 0.2]))
        self.counts: Counter[str] = Counter()
        self._queue: list[_Due] = []
        self._n = 0
        self._now = 0.0

    def run(self) -> tuple[list[object], object]:
        """Final answers in order of the accepted calls, and the world's state."""
        self._later("write")
        while self._queue:
            due = heapq.heappop(self._queue)
            self._now = due.at
            getattr(self, "_" + due.what)(due)
            self._claim_all()
        intents = [i for i in self.desk.state.intents.values() if i.block == "cleared"]
        assert all(i.terminal for i in self.desk.state.intents.values())
        assert all(i.final for i in intents)
        self.counts["voided"] += sum(i.block == "voided" for i in self.desk.state.intents.values())
        self.counts["adopted"] += sum(e.type == "intent.adopted" for e in self.desk.log)
        self.counts["stale"] += sum(e.type == "intent.stale" for e in self.desk.log)
        return [i.result_content for i in sorted(intents, key=lambda i: i.place)], self.world.snapshot()

    def _later(
        self, what: str, intent: Intent | None = None, attempt: int = 0, answer: object = None
    ) -> None:
        self._n += 1
        delay = self.random.choice([0.0, self.random.random(), 5 * self.random.random()])
        heapq.heappush(self._queue, _Due(self._now + delay, self._n, what, intent, attempt, answer))

    def _write(self, _due: _Due) -> None:
        main = self.desk.state.branches["main"]
        total = len(self.message.tokens)
        if main.head == total:
            self.desk.finish()
            return
        self._disturb()
        main = self.desk.state.branches["main"]
        if not main.pending and self.random.random() < 0.3:
            self._accept(self.message.tokens[main.head : main.head + self.random.randint(1, 4)])
        elif main.drafted_end < total and (not main.pending or self.random.random() < 0.6):
            proposed = self.drafts.propose(main.drafted_end, self.random.randint(1, 12))
            self.desk.size = 10**9
            self._draft(proposed)
        else:
            self._rule(self.random.randint(1, len(main.pending)))
        self._later("write")

    def _disturb(self) -> None:
        """Now and then a batch that is refused, which must leave no trace, or another writer that takes over."""
        main = self.desk.state.branches["main"]
        chance = self.random.random()
        if chance < 0.1 and not main.pending:
            tool, arguments = self._setting.draw(self.random)
            tokens = [{"text": spell(tool, **arguments)}]
            good = TokenEvent(EventType.TOKENS_ACCEPTED, {"round": main.round, "tokens": tokens})
            bad = TokenEvent(EventType.TOKENS_ACCEPTED, {"round": main.round + 1, "tokens": tokens})
            try:
                self.desk.write(good, bad)
            except WrongRound:
                self.counts["refused batches"] += 1
        elif chance > 0.95:
            self.desk.open()
            self.counts["takeovers"] += 1

    def _draft(self, texts: Sequence[str]) -> None:
        main = self.desk.state.branches["main"]
        tokens = [{"text": text} for text in texts]
        body = {"round": main.round, "start": main.drafted_end, "tokens": tokens}
        self.desk.write(TokenEvent(EventType.TOKENS_DRAFTED, body))

    def _accept(self, texts: Sequence[str]) -> None:
        """Plain decoding, without a drafter."""
        main = self.desk.state.branches["main"]
        tokens = [{"text": text} for text in texts]
        self.desk.write(TokenEvent(EventType.TOKENS_ACCEPTED, {"round": main.round, "tokens": tokens}))

    def _rule(self, judged: int) -> None:
        main = self.desk.state.branches["main"]
        true = self.message.tokens[main.head : main.head + judged]
        accepted = 0
        while accepted < judged and main.pending[accepted].text == true[accepted]:
            accepted += 1
        own = (
            self.message.tokens[main.head + accepted]
            if main.head + accepted < len(self.message.tokens)
            else None
        )
        give = accepted < judged or self.random.random() < 0.5
        self.desk.rule(main.head + judged, accepted, own if give else None)

    def _claim_all(self) -> None:
        released = [i for i in self.desk.state.intents.values() if i.state is IntentState.RELEASED]
        self.random.shuffle(released)
        for intent in released:
            if self.random.random() < 0.3:
                self._later("claim", intent)
            else:
                self._claim(_Due(self._now, 0, "claim", intent))

    def _claim(self, due: _Due) -> None:
        assert due.intent is not None
        assignment = self.desk.claim(due.intent)
        if assignment is not None:
            self.counts[
                "early" if self.desk.state.intents[due.intent.intent_id].answered_early else "sent"
            ] += 1
            self._later("act", due.intent, assignment.attempt)

    def _act(self, due: _Due) -> None:
        assert due.intent is not None
        is_write = self._setting.classes.get(str(due.intent.tool)) == "WRITE"
        # The last attempt is answered, so it has to have acted.
        acts = is_write or due.attempt >= MAX_ATTEMPTS or self.random.random() > 0.05
        if not acts:
            self._later("lose", due.intent, due.attempt)
            return
        answer = self.world.act(str(due.intent.tool), json.loads(due.intent.arguments_raw or "{}"))
        lost = due.intent.effect is not EffectClass.WRITE and self.random.random() < 0.1
        self._later("lose" if lost else "answer", due.intent, due.attempt, answer)

    def _lose(self, due: _Due) -> None:
        assert due.intent is not None
        intent = self.desk.state.intents[due.intent.intent_id]
        if intent.open_attempt == due.attempt and due.attempt < MAX_ATTEMPTS:
            self.counts["lost"] += self.desk.lose(intent)
        else:
            self._answer(due)

    def _answer(self, due: _Due) -> None:
        assert due.intent is not None
        self.desk.settle(due.intent, due.answer, due.attempt)


def gated(message: Message, setting: Setting, random: Random, effects: str) -> tuple[object, Counter[str]]:
    """Run through the gate: ((answers, state), counts)."""
    simulation = Simulation(message, setting, random, TableInForce(1, EffectTable.parse(effects)))
    return simulation.run(), simulation.counts


def naively(message: Message, setting: Setting, random: Random) -> object:
    """As an orchestrator does that sends a call as soon as its closing delimiter is drafted, and forgets what is rejected."""
    world, drafts = setting.begin(), Drafts(message, random, random.choice([0.0, 0.05, 0.2]))
    accepted: list[str] = []
    answers: dict[tuple[int, str], object] = {}
    while len(accepted) < len(message.tokens):
        proposed = drafts.propose(len(accepted), random.randint(1, 24))
        closed = [b for b in scan(HermesDetector(), [*accepted, *proposed]) if b.end > len(accepted)]
        random.shuffle(closed)
        for block in closed:
            call = block.calls[0]
            place = (block.byte_start, f"{call.tool}{call.arguments_raw}")
            if call.tool is not None and place not in answers:
                answers[place] = world.act(call.tool, json.loads(call.arguments_raw or "{}"))
        kept = 0
        while kept < len(proposed) and proposed[kept] == message.tokens[len(accepted) + kept]:
            kept += 1
        accepted += proposed[:kept]
        if kept < len(proposed):
            accepted.append(message.tokens[len(accepted)])
    final = []
    for block in scan(HermesDetector(), accepted):
        call = block.calls[0]
        final.append(answers.get((block.byte_start, f"{call.tool}{call.arguments_raw}")))
    return final, world.snapshot()
