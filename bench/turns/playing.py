"""Playing a message: its batches at their times through the sink of a decoding loop, then every answer awaited."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.turns.arms import Arm
from bench.turns.messages import Asked, Message, batches
from effects.intent import IntentState
from gateway.principal import Principal
from gateway.sinks.local import LocalSink
from gateway.turn.opening import StreamTerms
from gateway.wiring import Wired
from ledger.heads import read_heads
from ledger.sharding import StreamName
from ledger.state import StreamState

PATIENCE = 60.0
"""Seconds after which a turn has failed."""

POLLED = 0.004
"""Seconds between two looks at whether something has come."""

TERMS = StreamTerms(format="hermes", source="detected")


@dataclass(frozen=True, slots=True)
class Turn:
    """``seconds``: from the message's first token to the last of its answers. ``wrong``: answers that are not those of
    running the calls one by one in order."""

    seconds: float
    wrong: tuple[str, ...]


@dataclass(slots=True)
class _Awaited:
    caller: Principal
    done: Callable[[StreamState], bool]
    seen: int = 0
    at: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)


class Answers:
    """Looks after the answers of all turns under way, as the gateway's own followers do: by the heads of their streams."""

    def __init__(self, wired: Wired) -> None:
        self._wired = wired
        self._awaited: dict[StreamName, _Awaited] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="answers", daemon=True)
        self._thread.start()

    def expect(self, caller: Principal, commit_key: str, calls: int) -> _Awaited:
        """Look out for the end of a message with this many calls."""
        awaited = _Awaited(caller, lambda state: _over(state, calls))
        self._awaited[StreamName.of(caller.tenant, commit_key)] = awaited
        return awaited

    def close(self) -> None:
        """Look no more."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(POLLED):
            waiting = dict(self._awaited)
            for name, head in read_heads(self._wired.engine, list(waiting)).items():
                awaited = waiting[name]
                if head == awaited.seen:
                    continue
                awaited.seen = head
                if awaited.done(self._wired.streams.state(awaited.caller, name.commit_key)):
                    awaited.at = time.monotonic()
                    del self._awaited[name]
                    awaited.over.set()


def _over(state: StreamState, calls: int) -> bool:
    living = [intent for intent in state.intents.values() if intent.state is not IntentState.VOIDED]
    return state.finished is not None and len(living) == calls and all(intent.terminal for intent in living)


def play(
    wired: Wired,
    answers: Answers,
    caller: Principal,
    commit_key: str,
    message: Message,
    arm: Arm,
    duration: float,
) -> Turn:
    """Emit the message in ``duration`` seconds and wait for its answers. Raises TimeoutError, SinkError."""
    sink = LocalSink(wired.streams, caller, commit_key, TERMS)
    sink.open()
    begin = time.monotonic()
    acks = []
    for batch in batches(message, whole=arm.whole):
        time.sleep(max(0.0, begin + duration * batch.emitted / len(message.tokens) - time.monotonic()))
        acks.append(sink.submit(batch.events))
    # Not before: a turn is not over while its message goes on, and looking costs what is measured.
    awaited = answers.expect(caller, commit_key, len(message.calls))
    for ack in acks:
        ack.result(PATIENCE)
    sink.close()
    if not awaited.over.wait(PATIENCE):
        raise TimeoutError(f"{commit_key} has no answers")
    return Turn(awaited.at - begin, _wrong(wired, caller, commit_key, message.calls))


def _wrong(wired: Wired, caller: Principal, commit_key: str, calls: tuple[Asked, ...]) -> tuple[str, ...]:
    """What the runtime is told, call by call, where it is not what it should be."""
    living = [
        intent
        for intent in wired.streams.state(caller, commit_key).intents.values()
        if intent.state is not IntentState.VOIDED
    ]
    found = []
    for intent, asked in zip(sorted(living, key=lambda intent: intent.start), calls, strict=True):
        view, _ = wired.intents.get(caller, commit_key, intent.intent_id)
        wanted = {"status": "ok", "content": {"order": asked.order, "version": asked.version}}
        if view.get("result") != wanted:
            found.append(f"{commit_key} {asked.tool} {asked.order}: {view.get('result')} instead of {wanted}")
    return tuple(found)
