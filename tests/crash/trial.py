"""One crash: streams are driven, somebody dies at a fail point, everything is started again and judged once it rests."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from effects.intent import IntentState
from gateway.failpoints import FailPoint
from tests.crash import plan
from tests.crash.children import Children
from tests.crash.forked import Forked
from tests.crash.judge import Asked, Verdict, folded, judge, rests
from tests.crash.plan import Case
from tests.crash.rest import at_rest
from tests.crash.runtime import Turn
from tests.crash.stage import Stage
from tests.gateway.toolserver import eventually

PATIENCE = 40.0
"""Seconds within which a point is reached, and everything rests, on a busy machine."""

_KINDS: Mapping[str, tuple[str, ...]] = {
    plan.READ: ("read",),
    plan.PUT: ("put", "read"),
    plan.WRITE: ("write", "read", "write"),
}


@dataclass
class Trial:
    """What came of a case. ``rest_seconds``: from the start of what had died until nothing happened by itself any more."""

    case: Case
    at_rest: Verdict = field(default_factory=Verdict)
    resolved: Verdict = field(default_factory=Verdict)
    rest_seconds: float = 0.0
    doubts: Counter[str] = field(default_factory=Counter)

    @property
    def faults(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for verdict in (self.at_rest, self.resolved):
            for name, who in verdict.faults.items():
                found.setdefault(name, []).extend(who)
        return found

    @property
    def row(self) -> dict[str, object]:
        """As the table keeps it."""
        return {
            "point": str(self.case.point),
            "victim": self.case.victim,
            "class": self.case.effect,
            "upstream": self.case.upstream,
            "counts": {name: n for name, n in self.at_rest.counts.items() if n},
            "doubts": dict(self.doubts),
            "rest_seconds": round(self.rest_seconds, 2),
            "faults": {name: len(who) for name, who in self.faults.items()},
        }


def turns_of(case: Case, number: int, each: int | None = None) -> list[Turn]:
    """The streams of a case; one of them has its calls rejected."""
    kinds = case.way.classes if case.effect == plan.MIXED else (case.effect,)
    each = each or (1 if len(kinds) > 1 else 3)
    made = []
    for kind in kinds:
        for at in range(each + (kind == kinds[-1])):
            name = f"{number}-{kind.lower()}-{at}"
            key = f"{case.way.manner}-{name}"
            calls = tuple(Asked(tool, key, nth) for nth, tool in enumerate(_KINDS[kind]))
            made.append(Turn(f"case-{name}", calls, rejected=at == each))
    return made


class Crash:
    """Runs one case on a stage. ``planted``: the bug that dispatchers (and gateways) carry."""

    def __init__(self, stage: Stage, case: Case, planted: str | None = None) -> None:
        self._stage = stage
        self._case = case
        self._planted = planted
        self._number = next(stage.numbers)
        self._turns = turns_of(case, self._number)
        own = case.victim == case.way.process
        self._hold: Path | None = None if own else stage.folder / f"hold-{self._number}"
        self._busy: list[threading.Thread] = []
        self._trial = Trial(case)

    def run(self) -> Trial:
        stage, case = self._stage, self._case
        try:
            watched = self._begin()
            self._strike(watched)
            began = time.monotonic()
            self._settle()
            self._trial.rest_seconds = time.monotonic() - began
            self._trial.at_rest = self._judged(resolved=False)
            if self._resolve():
                self._trial.resolved = self._judged(resolved=True)
        finally:
            stage.end_dispatchers()
        assert stage.tool.alive, case
        return self._trial

    def _begin(self) -> Forked | Children:
        """Drive the streams up to the point; the process that will reach it."""
        stage, way = self._stage, self._case.way
        if way.process == plan.TOOL:
            stage.new_tool(die_at=f"{self._case.point}:{self._case.nth}")
        elif way.process == plan.GATEWAY and not way.died:
            # The drafts reach it too.
            stage.gateway.kill()
            stage.new_gateway(self._arming(len(self._turns) + self._case.nth), self._planted)
        stage.runtime.draft(self._turns)
        if way.died:
            return self._after_a_death()
        if way.process == plan.DISPATCHER:
            stage.new_dispatcher(self._arming(self._case.nth), self._planted, ready=False)
        else:
            stage.new_dispatcher(None, self._planted)
        self._busy.append(stage.runtime.rule(self._turns))
        return self._process(way.process)

    def _after_a_death(self) -> Forked:
        stage, way = self._stage, self._case.way
        # The first request of a stream is one of the class that is meant; a later one may be a read behind it.
        earlier = stage.arming(FailPoint.REQUEST_WRITTEN, 1)
        dead = stage.new_dispatcher(earlier, self._planted, ready=False)
        self._busy.append(stage.runtime.rule(self._turns))
        dead.await_death(PATIENCE)
        if way.process == plan.DISPATCHER:
            return stage.new_dispatcher(self._arming(1), self._planted, ready=False)
        stage.new_dispatcher(None, self._planted)
        self._settle()
        stage.gateway.kill()
        gateway = stage.new_gateway(self._arming(1), self._planted)
        resolving = threading.Thread(target=self._resolve, daemon=True)
        resolving.start()
        self._busy.append(resolving)
        return gateway

    def _arming(self, nth: int) -> dict[str, str]:
        return self._stage.arming(self._case.point, nth, self._hold)

    def _process(self, name: str) -> Forked | Children:
        stage = self._stage
        found: Forked | Children | None = {
            plan.DISPATCHER: stage.dispatcher,
            plan.GATEWAY: stage.gateway,
            plan.TOOL: stage.tool,
        }[name]
        assert found is not None
        return found

    def _strike(self, watched: Forked | Children) -> None:
        """Wait until the point is reached, let the victim be dead, and start it again."""
        stage, hold, victim = self._stage, self._hold, self._case.victim
        if hold is None:
            watched.await_death(PATIENCE)
        else:
            eventually(hold.exists, within=PATIENCE)
            if victim == plan.POSTGRES:
                stage.postgres.kill()
            else:
                self._process(victim).kill()
            hold.with_suffix(".go").touch()
        again: Mapping[str, Callable[[], object]] = {
            plan.POSTGRES: lambda: stage.postgres.start(fsync="off"),
            plan.TOOL: stage.new_tool,
            plan.GATEWAY: lambda: stage.new_gateway(None, self._planted),
            plan.DISPATCHER: lambda: stage.new_dispatcher(None, self._planted),
        }
        again[victim]()

    def _settle(self) -> None:
        for thread in self._busy:
            thread.join(PATIENCE)
            assert not thread.is_alive(), f"{self._case}: the runtime waits"
        left = {turn.commit_key: turn for turn in self._turns}

        def nothing_left() -> bool:
            self._supervise()
            for turn in list(left.values()):
                state = self._stage.state(turn.commit_key)
                if state is not None and rests(state, turn.asked):
                    del left[turn.commit_key]
            return not left

        try:
            eventually(nothing_left, within=PATIENCE)
        except AssertionError:
            # The judge says what it is.
            return

    def _supervise(self) -> None:
        """Start again what ended by itself, as a dispatcher does that is started while the database is away."""
        stage = self._stage
        if stage.dispatcher is not None and not stage.dispatcher.alive:
            stage.new_dispatcher(None, self._planted, ready=False)
        if not stage.gateway.alive:
            stage.new_gateway(None, self._planted)

    def _judged(self, *, resolved: bool) -> Verdict:
        books = at_rest(self._stage, self._turns, PATIENCE)
        asked: dict[str, Sequence[Asked]] = {turn.commit_key: turn.asked for turn in self._turns}
        return judge(asked, books.told, books.log, resolved=resolved)

    def _resolve(self) -> bool:
        """Settle every doubt as the tool's log says, once nobody can act on it any more; whether there was one."""
        stage, found = self._stage, False
        while doubts := self._doubts():
            found = True
            stage.end_dispatchers()
            stage.quiet_tool()
            acted = {line["intent_id"] for line in stage.log() if line["line"] == "acted"}
            for commit_key, intent_id in doubts:
                happened = intent_id in acted
                self._trial.doubts["happened" if happened else "not happened"] += 1
                stage.runtime.resolve(commit_key, intent_id, happened=happened)
            stage.new_dispatcher(None, self._planted)
            if threading.current_thread() not in self._busy:
                self._settle()
            else:
                return True
        return found

    def _doubts(self) -> list[tuple[str, str]]:
        return [
            (turn.commit_key, intent.intent_id)
            for turn in self._turns
            for intent in folded(turn.commit_key, self._stage.events(turn.commit_key)).intents.values()
            if intent.state is IntentState.IN_DOUBT
        ]
