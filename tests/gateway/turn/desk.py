"""A stream decided in memory: the pure decisions of gateway.turn, folded at once, with no database behind them."""

import json
from datetime import UTC, datetime, timedelta

from effects.intent import ResultStatus
from effects.table import EffectTable
from gateway.turn import dispatching
from gateway.turn.advance import advance
from gateway.turn.opening import StreamTerms, open_stream
from gateway.turn.posting import PostedIntent, post_intent
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from gateway.turn.tokens import TokenEvent, write_tokens
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType, NewEvent
from ledger.fold import initial
from ledger.state import Intent

TOOLS = """
policy: {{write_order: {order}, reads_behind_writes: {reads}}}
tools:
  create: {{effect: WRITE, writes: ["thing:{{name}}"], upstream: {{http: "http://127.0.0.1:9/tools/create"}}}}
  delete: {{effect: WRITE, writes: ["thing:{{name}}"], upstream: {{http: "http://127.0.0.1:9/tools/delete"}}}}
  put: {{effect: IDEMPOTENT, window: 1h, writes: ["thing:{{name}}"], upstream: {{http: "http://127.0.0.1:9/tools/put"}}}}
  read: {{effect: READ_ONLY, reads: ["thing:{{name}}"], upstream: {{http: "http://127.0.0.1:9/tools/read"}}}}
  search: {{effect: READ_ONLY, reads: [], open_world: true, upstream: {{http: "http://127.0.0.1:9/tools/search"}}}}
"""


def table(order: str = "strict", reads: str = "hold", version: int = 1) -> TableInForce:
    return TableInForce(version, EffectTable.parse(TOOLS.format(order=order, reads=reads)))


def spell(tool: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


class Desk:
    """Drives one stream ``k``; texts are cut into tokens of ``size`` characters."""

    def __init__(self, force: TableInForce | None = None, *, source: str = "detected", size: int = 4) -> None:
        self.force = force or table()
        self.size = size
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.scanner = BlockScanner()
        self.state = initial("t", "k")
        self.log: list[NewEvent] = []
        self.open(source=source)

    def _take(self, unfolding: Unfolding) -> None:
        self.state = unfolding.state
        self.log.extend(unfolding.events)
        self.now += timedelta(milliseconds=1)

    def open(self, source: str = "detected") -> bool:
        unfolding = Unfolding(self.state, self.now)
        new = open_stream(unfolding, StreamTerms(source=source))
        advance(unfolding, self.force)
        self._take(unfolding)
        return new

    def cut(self, text: str) -> list[dict[str, object]]:
        return [{"text": text[i : i + self.size]} for i in range(0, len(text), self.size)]

    def write(self, *events: TokenEvent, epoch: int | None = None) -> None:
        unfolding = Unfolding(self.state, self.now)
        write_tokens(unfolding, epoch or self.state.writer_epoch, events, self.scanner, self.force)
        advance(unfolding, self.force)
        self._take(unfolding)

    def draft_event(self, text: str) -> TokenEvent:
        main = self.state.branches["main"]
        body = {"round": main.round, "start": main.drafted_end, "tokens": self.cut(text)}
        return TokenEvent(EventType.TOKENS_DRAFTED, body)

    def draft(self, text: str) -> int:
        """Draft ``text``; the drafted end after it."""
        self.write(self.draft_event(text))
        return self.state.branches["main"].drafted_end

    def rule(self, end: int, accepted: int, own: str | None = None) -> None:
        main = self.state.branches["main"]
        body: dict[str, object] = {"round": main.round, "start": main.head, "end": end, "accepted": accepted}
        if own is not None:
            body["token"] = {"text": own}
        self.write(TokenEvent(EventType.TOKENS_RULED, body))

    def rule_all(self) -> None:
        main = self.state.branches["main"]
        self.rule(main.drafted_end, main.drafted_end - main.head)

    def accept(self, text: str) -> None:
        main = self.state.branches["main"]
        self.write(TokenEvent(EventType.TOKENS_ACCEPTED, {"round": main.round, "tokens": self.cut(text)}))

    def finish(self, reason: str = "stop") -> None:
        self.write(TokenEvent(EventType.STREAM_FINISHED, {"reason": reason}))

    def post(
        self, tool: str, arguments: dict[str, object], span: tuple[int, int], round_: int | None = 0
    ) -> bool:
        unfolding = Unfolding(self.state, self.now)
        posted = PostedIntent("main", round_, span[0], span[1], 0, tool, arguments)
        _, replayed = post_intent(unfolding, posted, self.scanner, self.force)
        advance(unfolding, self.force)
        self._take(unfolding)
        return replayed

    def claim(self, intent: Intent) -> dispatching.Assignment | None:
        unfolding = Unfolding(self.state, self.now)
        assignment = dispatching.claim(unfolding, self.force, intent.intent_id, worker="w", epoch=1)
        self._take(unfolding)
        return assignment

    def settle(self, intent: Intent, content: object = None, attempt: int | None = None) -> bool:
        unfolding = Unfolding(self.state, self.now)
        outcome = dispatching.Outcome(ResultStatus.OK, content)
        on_time = dispatching.settle(
            unfolding,
            self.force,
            intent.intent_id,
            attempt or self.state.intents[intent.intent_id].attempts,
            outcome,
        )
        self._take(unfolding)
        return on_time

    def unavailable(self, intent: Intent) -> None:
        unfolding = Unfolding(self.state, self.now)
        outcome = dispatching.Outcome(ResultStatus.UNAVAILABLE)
        attempt = self.state.intents[intent.intent_id].attempts
        dispatching.settle(unfolding, self.force, intent.intent_id, attempt, outcome)
        self._take(unfolding)

    def lose(self, intent: Intent, retry_after: float = 0.0) -> bool:
        unfolding = Unfolding(self.state, self.now)
        attempt = self.state.intents[intent.intent_id].attempts
        known = dispatching.lose(
            unfolding, self.force, intent.intent_id, attempt, because="lease_expired", retry_after=retry_after
        )
        self._take(unfolding)
        return known

    def resolve(self, intent: Intent, *, happened: bool) -> None:
        unfolding = Unfolding(self.state, self.now)
        dispatching.resolve(
            unfolding,
            self.force,
            self.state.intents[intent.intent_id],
            happened=happened,
            reason="seen",
            by="p",
        )
        self._take(unfolding)

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        unfolding = Unfolding(self.state, self.now)
        advance(unfolding, self.force)
        self._take(unfolding)

    def intent(self, tool: str, nth: int = -1) -> Intent:
        """The nth intent of ``tool``, by when it was held."""
        found = sorted((i for i in self.state.intents.values() if i.tool == tool), key=lambda i: i.held_seq)
        return found[nth]

    def types(self, intent: Intent) -> list[str]:
        """Types of the events about one intent, in order."""
        return [e.type.value for e in self.log if e.intent_id == intent.intent_id]
