"""Two gateways and four dispatchers over one ledger, under load, while one after the other is killed."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from random import Random

from effects.intent import IntentState
from tests.crash import plan
from tests.crash.forked import Forked
from tests.crash.judge import Asked, Verdict, folded, judge, rests
from tests.crash.rest import at_rest
from tests.crash.runtime import Runtime, Turn
from tests.crash.stage import Stage
from tests.gateway.toolserver import eventually, free_port

DISPATCHERS, WRITERS, GATEWAY_EVERY = 4, 4, 5
PATIENCE = 120.0
_KINDS: Mapping[str, tuple[str, ...]] = {
    plan.READ: ("read", "read"),
    plan.PUT: ("put", "read"),
    plan.WRITE: ("write", "read", "write"),
}
_MANNERS = ("quick", "quick", "quick", "quick", "slow", "reset", "overdue")


class Load:
    """``kills``: whom, how often. Leave it to end everything that it began."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._random = Random(seed)
        self._ports = [free_port(), free_port()]
        self._runtimes = [Runtime(f"http://127.0.0.1:{port}") for port in self._ports]
        self._gateways = [self._gateway(place) for place in range(len(self._ports))]
        self._dispatchers = [self._dispatcher() for _ in range(DISPATCHERS)]
        self._over = threading.Event()
        self._failures: list[BaseException] = []
        self._lock = threading.Lock()
        self.turns: list[Turn] = []
        self.kills: Counter[str] = Counter()
        self.resolved: Counter[str] = Counter()

    def _gateway(self, place: int) -> Forked:
        arguments = ("serve", "--port", str(self._ports[place]), "--no-dispatch")
        return self._stage.zygote.command(*arguments, environ=self._stage.environ)

    def _dispatcher(self, *, ready: bool = True) -> Forked:
        return self._stage.zygote.command("worker", environ=self._stage.environ, ready=ready)

    def run(self, seconds: float) -> None:
        """Write and kill for so long, then let everything come to rest."""
        writers = [threading.Thread(target=self._write, args=(Random(n),)) for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self._over.wait(1.0)
            self._kill()
        self._over.set()
        for writer in writers:
            writer.join()
        assert self._failures == []
        self._settle()

    def judged(self, *, resolved: bool = False) -> Verdict:
        books = at_rest(self._stage, self.turns, PATIENCE)
        asked = {turn.commit_key: turn.asked for turn in self.turns}
        return judge(asked, books.told, books.log, resolved=resolved)

    def resolve(self) -> None:
        """Settle every doubt as the tool's log says, with nobody left who could act on it."""
        while doubts := self._doubts():
            for dispatcher in self._dispatchers:
                dispatcher.kill()
            self._stage.quiet_tool()
            acted = {line["intent_id"] for line in self._stage.log() if line["line"] == "acted"}
            for commit_key, intent_id in doubts:
                happened = intent_id in acted
                self.resolved["happened" if happened else "not happened"] += 1
                self._runtimes[0].resolve(commit_key, intent_id, happened=happened)
            self._dispatchers = [self._dispatcher()]
            self._settle()

    def _write(self, random: Random) -> None:
        try:
            while not self._over.is_set():
                number = next(self._stage.numbers)
                key = f"{random.choice(_MANNERS)}-{number}"
                tools = _KINDS[random.choice(plan.CLASSES)]
                calls = tuple(Asked(tool, key, nth) for nth, tool in enumerate(tools))
                turn = Turn(f"load-{number}", calls, rejected=random.random() < 0.1)
                random.choice(self._runtimes).drive(turn)
                with self._lock:
                    self.turns.append(turn)
        except BaseException as error:  # noqa: BLE001 - the test looks at them
            self._failures.append(error)

    def _kill(self) -> None:
        place = self._random.randrange(DISPATCHERS)
        self._dispatchers[place].kill()
        self._dispatchers[place] = self._dispatcher(ready=False)
        self.kills["dispatchers"] += 1
        if self.kills["dispatchers"] % GATEWAY_EVERY == 0:
            place = self._random.randrange(len(self._gateways))
            self._gateways[place].kill()
            self._gateways[place] = self._gateway(place)
            self.kills["gateways"] += 1

    def _settle(self) -> None:
        left = {turn.commit_key: turn for turn in self.turns}

        def nothing_left() -> bool:
            for turn in list(left.values()):
                state = self._stage.state(turn.commit_key)
                if state is not None and rests(state, turn.asked):
                    del left[turn.commit_key]
            return not left

        try:
            eventually(nothing_left, within=PATIENCE)
        except AssertionError:
            raise AssertionError("\n".join(self._story(turn) for turn in list(left.values())[:5])) from None

    def _story(self, turn: Turn) -> str:
        """A stream that does not come to rest."""
        events = self._stage.events(turn.commit_key)
        said = [f"{e.seq} {e.at:%H:%M:%S.%f} {e.type} {e.intent_id or ''} {e.attempt or ''}" for e in events]
        return f"{turn} does not rest:\n  " + "\n  ".join(said)

    def _doubts(self) -> list[tuple[str, str]]:
        return [
            (turn.commit_key, intent.intent_id)
            for turn in self.turns
            for intent in folded(turn.commit_key, self._stage.events(turn.commit_key)).intents.values()
            if intent.state is IntentState.IN_DOUBT
        ]

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with ExitStack() as ending:
            closing: list[Callable[[], None]] = [runtime.close for runtime in self._runtimes]
            for close in [*closing, *(p.kill for p in [*self._gateways, *self._dispatchers])]:
                ending.callback(close)
