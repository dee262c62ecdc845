"""Histories drawn at random: the decisions of gateway.turn on the real ledger, with losses, doubts, takeovers and repeats."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

from effects.classes import EffectClass
from effects.intent import IntentState, ResultStatus
from effects.table import EffectTable
from gateway.turn import approving, dispatching
from gateway.turn.opening import StreamTerms, open_stream
from gateway.turn.restored import doubt_unsettled
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from gateway.turn.tokens import TokenEvent
from gateway.turn.unfolding import Unfolding
from ledger.append import CloseLicence, Ledger, Licence
from ledger.change import SideRow
from ledger.events import EventType
from ledger.state import Intent
from tests.gateway.turn.desk import TOOLS as TABLE
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn

BRANCHES = ("main", "side")
TOOLS = ("create", "delete", "put", "read", "read", "read", "search", "nobody", "ask")
ASKING = """  ask: {effect: WRITE, writes: ["thing:{name}"], approval: required, upstream: {http: "http://127.0.0.1:9/ask"}}
"""
NAMES = ("a", "b", "*", "a\\*", "ä\u2028\x1b[2J", '"quoted\\"')
NOISE = (
    "ok ",
    "Größe: 4 \u202e",
    "\x00\x00 nul",
    "<tool_call>{</tool_call>",
    'say "so"\\ ',
    "🙂" * 3,
    "long " * 40,
)
DRAFTERS = (None, "small", "other\x9b")
STEPS = ("draft",) * 6 + ("rule",) * 5 + ("accept",) * 2 + ("claim",) * 6 + ("settle",) * 4 + ("lose",) * 4
STEPS += (
    "approve",
    "approve",
    "deny",
    "probe",
    "late",
    "late",
    "resolve",
    "take_over",
    "wait",
    "name",
    "restore",
)


class Wandering(LiveTurn):
    """One stream of two branches; ``steps`` random moves of its writer, its dispatcher and its operator."""

    def __init__(self, ledger: Ledger, tenant: str, key: str, random: Random, *, age: timedelta) -> None:
        self.tenant, self.key, self.random = tenant, key, random
        reads, order = random.choice(["send", "hold"]), random.choice(["strict", "footprint"])
        tools = TABLE.format(order=order, reads=reads) + ASKING
        self.force = TableInForce(1, EffectTable.parse(tools))
        self.now = datetime.now(UTC) - age
        self.scanner = BlockScanner()
        self.ledger = Ledger(ledger._engine, clock=lambda: self.now)
        self.seen: Counter[str] = Counter()
        terms = StreamTerms(source="detected", branches=BRANCHES, branches_mode="disjoint", labels={"n": 1})
        self._do(lambda unfolding: open_stream(unfolding, terms))

    def wander(self, steps: int) -> None:
        """Take ``steps`` moves; one that makes no sense where the stream stands is passed over."""
        for _ in range(steps):
            step = self.random.choice(STEPS)
            getattr(self, f"_{step}")()
        if self.random.random() < 0.7:
            self.finish(self.random.choice(["stop", "stop", "length", "error", "cancelled"]))
            for _ in range(self.random.randrange(8)):
                getattr(self, f"_{self.random.choice(['claim', 'settle', 'lose', 'resolve', 'late'])}")()

    def knows(self, tool: str) -> bool:
        """Whether the effect table has a tool of this name."""
        return tool in self.force.table.tools

    def _tokens(self) -> list[dict[str, object]]:
        text = "".join(self._phrase() for _ in range(self.random.randint(1, 3)))
        size = self.random.choice([3, 8, 30])
        tokens: list[dict[str, object]] = []
        for start in range(0, len(text), size):
            token: dict[str, object] = {"text": text[start : start + size]}
            if self.random.random() < 0.6:
                token["id"] = self.random.randrange(9)
            tokens.append(token)
        return tokens

    def _phrase(self) -> str:
        if self.random.random() < 0.3:
            return self.random.choice(NOISE)
        return spell(self.random.choice(TOOLS), name=self.random.choice(NAMES))

    def _draft(self) -> None:
        branch = self.state.branches[self.random.choice(BRANCHES)]
        tokens = self._tokens()
        for token in tokens:
            drafter = self.random.choice(DRAFTERS)
            token |= {} if drafter is None else {"drafter": drafter}
        body = {"round": branch.round, "start": branch.drafted_end, "tokens": tokens}
        self.write(TokenEvent(EventType.TOKENS_DRAFTED, body, branch.name))

    def _accept(self) -> None:
        branch = self.state.branches[self.random.choice(BRANCHES)]
        if not branch.pending:
            body = {"round": branch.round, "tokens": self._tokens()}
            self.write(TokenEvent(EventType.TOKENS_ACCEPTED, body, branch.name))

    def _rule(self) -> None:
        branch = self.state.branches[self.random.choice(BRANCHES)]
        pending = len(branch.pending)
        judged = pending if self.random.random() < 0.6 else self.random.randint(0, pending)
        stand = judged if self.random.random() < 0.7 else self.random.randint(0, judged)
        body: dict[str, object] = {"round": branch.round, "start": branch.head, "end": branch.head + judged}
        body["accepted"] = stand
        if judged == 0 or self.random.random() < 0.4:
            body["token"] = self._own(branch.pending[stand:])
        if self.random.random() < 0.3:
            body |= {"ruling_id": f"r{self.random.randrange(99)}", "rule": "match", "verify_ms": 1.5}
        self.write(TokenEvent(EventType.TOKENS_RULED, body, branch.name))

    def _own(self, rest: tuple[object, ...]) -> dict[str, object]:
        own: dict[str, object] = {"text": self.random.choice(["x", " ", "é"])}
        if rest and self.random.random() < 0.6:
            own["text"] = rest[0].text  # type: ignore[attr-defined]
        if self.random.random() < 0.5:
            own["id"] = self.random.randrange(9)
        return own

    def _take_over(self) -> None:
        if self.random.random() < 0.4:
            self._do(lambda unfolding: open_stream(unfolding, StreamTerms()))

    def _restore(self) -> None:
        """The database came back and may have lost what was sent."""
        if self.random.random() < 0.5:
            since = {
                i.intent_id: self.now - timedelta(minutes=self.random.choice([1, 90])) for i in self._some()
            }
            self._do(lambda unfolding: doubt_unsettled(unfolding, self.force, since))
            self.seen["restored"] += 1

    def _some(self) -> list[Intent]:
        return [i for i in self.state.intents.values() if self.random.random() < 0.7]

    def _wait(self) -> None:
        self.now += timedelta(minutes=self.random.choice([0, 1, 50]))

    def _any(self, *states: IntentState) -> Intent | None:
        return self._one_of([i for i in self.state.intents.values() if i.state in states])

    def _awaited(self) -> Intent | None:
        return self._one_of([i for i in self.state.intents.values() if i.open_attempt is not None])

    def _one_of(self, found: list[Intent]) -> Intent | None:
        """One of them; rather one that is no read, because reads are many."""
        rare = [i for i in found if i.effect is not EffectClass.READ_ONLY]
        chosen = rare if rare and self.random.random() < 0.7 else found
        return self.random.choice(chosen) if chosen else None

    def _claim(self) -> None:
        intent = self._any(IntentState.RELEASED)
        if intent is None:
            return

        def decide(unfolding: Unfolding) -> tuple[SideRow, ...]:
            call = dispatching.claim(unfolding, self.force, intent.intent_id, worker="w\x07", epoch=1)
            if call is None:
                return ()
            write = call.effect is EffectClass.WRITE
            return (
                Licence(
                    intent_id=intent.intent_id,
                    attempt=call.attempt,
                    branch=intent.branch,
                    effect=call.effect.value,
                    worker="w\x07",
                    epoch=1,
                    lease_seconds=30.0,
                    once_key=intent.intent_id if write else None,
                ),
            )

        self._do(decide)
        self.seen["claimed"] += 1

    def _settle(self) -> None:
        intent = self._awaited()
        if intent is None:
            return
        unsent = self.random.random() < 0.15
        status = ResultStatus.UNAVAILABLE if unsent else self._status()
        content = self.random.choice([None, {"n": 1.5, "t": 'é "q" \\ \x00'}, ["x" * 99], "plain"])
        outcome = dispatching.Outcome(status, None if unsent else content, unsent=unsent)
        self._answer(intent, intent.attempts, outcome)

    def _status(self) -> ResultStatus:
        return self.random.choice(
            [ResultStatus.OK, ResultStatus.OK, ResultStatus.TOOL_ERROR, ResultStatus.UNAVAILABLE]
        )

    def _late(self) -> None:
        """An answer to an attempt that may not be awaited any more."""
        found = [i for i in self.state.intents.values() if i.attempts and i.open_attempt is None]
        if found:
            intent = self.random.choice(found)
            outcome = dispatching.Outcome(self._status(), {"late": True})
            self._answer(intent, self.random.randint(1, intent.attempts), outcome)

    def _answer(self, intent: Intent, attempt: int, outcome: dispatching.Outcome) -> None:
        def decide(unfolding: Unfolding) -> tuple[SideRow, ...]:
            if not dispatching.settle(unfolding, self.force, intent.intent_id, attempt, outcome):
                self.seen["late"] += 1
                return ()
            closing = CloseLicence(
                intent_id=intent.intent_id, attempt=attempt, epoch=1, unsent=outcome.unsent
            )
            return (closing,)

        self._do(decide)

    def _lose(self) -> None:
        intent = self._awaited()
        if intent is None:
            return
        retry_after = self.random.choice([0.0, 60.0])

        def decide(unfolding: Unfolding) -> tuple[SideRow, ...]:
            about = (unfolding, self.force, intent.intent_id, intent.attempts)
            assert dispatching.lose(*about, because="timeout", retry_after=retry_after)
            return (CloseLicence(intent_id=intent.intent_id, attempt=intent.attempts, epoch=1),)

        self._do(decide)
        self.seen["lost"] += 1

    def _resolve(self) -> None:
        intent = self._any(IntentState.IN_DOUBT)
        if intent is not None:
            said = {
                "happened": self.random.random() < 0.5,
                "reason": 'I "saw"\nit',
                "by": "p\t",
                "evidence": {"a": [1]},
            }
            self._do(lambda u: dispatching.resolve(u, self.force, u.intent(intent.intent_id), **said))
            self.seen["resolved"] += 1

    def _approve(self) -> None:
        intent = self._any(IntentState.AWAITING_APPROVAL)
        if intent is not None:
            said = {"by": "p", "note": self.random.choice([None, 'say "so"\n'])}
            self._do(lambda u: approving.approve(u, self.force, u.intent(intent.intent_id), **said))
            self.seen["approved"] += 1

    def _deny(self) -> None:
        intent = self._any(IntentState.AWAITING_APPROVAL)
        if intent is not None:
            self._do(lambda u: approving.deny(u, u.intent(intent.intent_id), by="p\t", reason='"no"'))
            self.seen["denied"] += 1

    def _probe(self) -> None:
        """A look at the tool that settles nothing."""
        intent = self._any(IntentState.IN_DOUBT)
        if intent is not None:
            found = {"verdict": "unknown", "tool": "read", "content": {"n": 1}, "because": "undecidable"}
            about = {"attempt": intent.attempts}
            self._do(
                lambda u: u.emit_for(EventType.DISPATCH_PROBED, u.intent(intent.intent_id), **about, **found)
            )
            self.seen["probed"] += 1

    def _name(self) -> None:
        intent = self._any(*IntentState)
        if intent is not None:
            call_id = f'call\n"{self.random.randrange(9)}'
            self._do(
                lambda u: u.emit_for(EventType.INTENT_CALL_ID, u.intent(intent.intent_id), call_id=call_id)
            )
