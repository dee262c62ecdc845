"""A turn on the real ledger: the decisions of gateway.turn, appended as the gateway and its dispatcher append them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from decoding.calls.formats import detector_for
from decoding.calls.scan import scan
from effects.classes import EffectClass
from effects.intent import ResultStatus
from gateway.turn import dispatching
from gateway.turn.advance import advance
from gateway.turn.opening import StreamTerms, open_stream
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from gateway.turn.tokens import TokenEvent, write_tokens
from gateway.turn.unfolding import Unfolding
from ledger.append import Change, CloseLicence, Ledger, Licence
from ledger.change import SideRow
from ledger.events import Event, EventType
from ledger.state import Intent, StreamState
from tests.gateway.turn.desk import table

SIZE = 4


def find_blocks(format_: str, texts: Sequence[str]):
    """The detector, as the gateway hands it to reconciliation."""
    return scan(detector_for(format_), texts)


class LiveTurn:
    """Drives one stream; texts are cut into tokens of four characters. Events are ``age`` old."""

    def __init__(
        self,
        ledger: Ledger,
        tenant: str,
        key: str = "turn-1",
        force: TableInForce | None = None,
        *,
        age: timedelta = timedelta(hours=1),
    ) -> None:
        self.tenant, self.key = tenant, key
        self.force = force or table(reads="send")
        self.now = datetime.now(UTC) - age
        self.scanner = BlockScanner()
        self.ledger = Ledger(ledger._engine, clock=lambda: self.now)
        self._do(lambda unfolding: open_stream(unfolding, StreamTerms(source="detected")))

    @property
    def state(self) -> StreamState:
        return self.ledger.read(self.tenant, self.key)

    @property
    def events(self) -> list[Event]:
        return self.ledger.events(self.tenant, self.key, after=0, limit=10_000)

    def draft(self, text: str) -> int:
        main = self.state.branches["main"]
        tokens = [{"text": text[i : i + SIZE], "drafter": "small"} for i in range(0, len(text), SIZE)]
        body = {"round": main.round, "start": main.drafted_end, "tokens": tokens}
        self.write(TokenEvent(EventType.TOKENS_DRAFTED, body))
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

    def say(self, text: str) -> None:
        """Draft and accept ``text``."""
        self.draft(text)
        self.rule_all()

    def finish(self, reason: str = "stop") -> None:
        self.write(TokenEvent(EventType.STREAM_FINISHED, {"reason": reason}))

    def write(self, event: TokenEvent) -> None:
        epoch = self.state.writer_epoch
        self._do(lambda u: write_tokens(u, epoch, [event], self.scanner, self.force))

    def claim(self, tool: str, nth: int = -1, *, lease: float = 30.0) -> Intent:
        intent_id = self.intent(tool, nth).intent_id

        def decide(unfolding: Unfolding) -> tuple[SideRow, ...]:
            call = dispatching.claim(unfolding, self.force, intent_id, worker="w", epoch=1)
            assert call is not None, unfolding.intent(intent_id)
            once = intent_id if call.effect is EffectClass.WRITE else None
            licence = Licence(
                intent_id=intent_id,
                attempt=call.attempt,
                branch="main",
                effect=call.effect.value,
                worker="w",
                epoch=1,
                lease_seconds=lease,
                once_key=once,
            )
            return (licence,)

        self._do(decide)
        return self.intent(tool, nth)

    def settle(
        self,
        tool: str,
        nth: int = -1,
        *,
        status: ResultStatus = ResultStatus.OK,
        unsent: bool = False,
        attempt: int | None = None,
    ) -> None:
        """Record the outcome of the latest attempt, or of ``attempt``."""
        intent = self.intent(tool, nth)
        attempt = attempt or intent.attempts
        outcome = dispatching.Outcome(status, {"seen": tool}, unsent=unsent)

        def decide(unfolding: Unfolding) -> tuple[SideRow, ...]:
            if not dispatching.settle(unfolding, self.force, intent.intent_id, attempt, outcome):
                return ()
            return (CloseLicence(intent_id=intent.intent_id, attempt=attempt, epoch=1, unsent=unsent),)

        self._do(decide)

    def call(self, tool: str, nth: int = -1) -> Intent:
        """Send it and have it answered."""
        self.claim(tool, nth)
        self.settle(tool, nth)
        return self.intent(tool, nth)

    def lose(self, tool: str, nth: int = -1) -> None:
        intent = self.intent(tool, nth)

        def decide(unfolding: Unfolding) -> tuple[SideRow, ...]:
            lost = (intent.intent_id, intent.attempts)
            assert dispatching.lose(unfolding, self.force, *lost, because="timeout")
            return (CloseLicence(intent_id=intent.intent_id, attempt=intent.attempts, epoch=1),)

        self._do(decide)

    def resolve(self, tool: str, *, happened: bool) -> None:
        intent = self.intent(tool)
        said = {"happened": happened, "reason": "seen", "by": "p"}
        self._do(lambda u: dispatching.resolve(u, self.force, u.intent(intent.intent_id), **said))

    def intent(self, tool: str, nth: int = -1) -> Intent:
        """The nth intent of ``tool``, by when it was held."""
        found = [i for i in self.state.intents.values() if i.tool == tool]
        return sorted(found, key=lambda i: i.held_seq)[nth]

    def _do(self, decide: Callable[[Unfolding], object]) -> None:
        def change(state: StreamState) -> Change:
            unfolding = Unfolding(state, self.now)
            side = decide(unfolding)
            advance(unfolding, self.force)
            return Change(unfolding.events, side if isinstance(side, tuple) else ())

        self.ledger.append(self.tenant, self.key, change)
        self.now += timedelta(milliseconds=1)
