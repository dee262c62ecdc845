"""Limits hold over all dispatchers of a ledger: the tool server counts what arrives at once, and how fast."""

import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from effects.intent import IntentState
from effects.table import EffectTable
from gateway.dispatcher.claim import _Claim
from gateway.dispatcher.settings import DispatcherSettings
from gateway.principal import everyone
from gateway.service.views import reasons_under
from gateway.turn.opening import StreamTerms
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.append import Ledger
from ledger.braking.admission import Admission, Admissions, Asking, Refusal
from ledger.errors import LedgerUnavailable
from ledger.events import EventType
from ledger.sharding import StreamName
from ledger.work import ReleasedCall
from tests.gateway.dispatcher.floor import TENANT, Floor, Turn, spelled
from tests.gateway.toolserver import Exchange, eventually, ok
from tests.gateway.turn.desk import Desk, spell, table
from tests.postgres import TestDatabase


@dataclass
class Counting:
    """Answers after ``seconds``; knows the most that it served at once, and when each arrived."""

    seconds: float
    most: int = 0
    arrived: list[float] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, exchange: Exchange) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.arrived.append(time.monotonic())
            self.bodies.append(exchange.received.body)
        time.sleep(self.seconds)
        with self._lock:
            self._now -= 1
        ok()(exchange)


@contextmanager
def two_processes(database: TestDatabase) -> Iterator[None]:
    with ExitStack() as stack:
        for number in range(2):
            command = [sys.executable, "-m", "tests.gateway.dispatcher.worker_process", database.service_url]
            process = stack.enter_context(subprocess.Popen([*command, f"worker-{number}"]))
            stack.callback(process.kill)
        yield


def settled(turns: list[Turn]) -> None:
    for turn in turns:
        turn.until(IntentState.SETTLED)


READ = "{{effect: READ_ONLY, reads: [], timeout: 10s, {limits}upstream: {{http: 'URL/limited'}}}}"


def limited(floor: Floor, limits: str) -> None:
    floor.put_in_force(limited=READ.format(limits=limits))


@pytest.mark.parametrize("limits", ["limits: {concurrency: 2}, ", ""])
def test_no_more_at_once_than_the_table_says(floor: Floor, database: TestDatabase, limits: str) -> None:
    limited(floor, limits)
    counting = Counting(0.05)
    floor.tools.behave("/limited", counting)
    turns = [floor.turn("limited", key=f"turn-{n}", n=n) for n in range(16)]
    with two_processes(database):
        settled(turns)
    assert len(counting.arrived) == len(turns)
    # The control: without limits it is more.
    assert counting.most == 2 if limits else counting.most > 2


def test_no_faster_than_the_table_says(floor: Floor, database: TestDatabase) -> None:
    limited(floor, "limits: {rate: 10/s}, ")
    counting = Counting(0.0)
    floor.tools.behave("/limited", counting)
    turns = [floor.turn("limited", key=f"turn-{n}", n=n) for n in range(16)]
    with two_processes(database):
        settled(turns)
    # One goes at once and one each tenth of a second. How evenly they arrive is up to the machine; the exact bound is that
    # of the bucket.
    assert len(counting.arrived) == 16
    claimed = sorted(at.timestamp() for at in (turn.intent.dispatched_at for turn in turns) if at is not None)
    within = max(bisect_left(claimed, first + 0.5) - place for place, first in enumerate(claimed))
    assert within <= 10
    assert claimed[-1] - claimed[0] > 1.0, "the control: sixteen at once would be faster"


def test_a_limit_of_all_tools_holds_over_them_together(floor: Floor) -> None:
    counting = Counting(0.03)
    for path in ("/read", "/limited"):
        floor.tools.behave(path, counting)
    limited(floor, "")
    table = floor.tables.current(TENANT).table.document() | {"limits": {"concurrency": 1}}
    floor.tables.apply(everyone(TENANT), table)
    turns = [floor.turn(tool, key=f"{tool}-{n}", n=n) for n in range(5) for tool in ("read", "limited")]
    with floor.dispatching():
        settled(turns)
    assert counting.most == 1


def many_calls(floor: Floor, key: str, number: int) -> Turn:
    """One stream that asks for ``number`` calls at once."""
    view, _ = floor.streams.open(everyone(TENANT), key, StreamTerms(source="detected"))
    turn = Turn(floor, key, int(str(view["writer_epoch"])))
    tokens = [{"text": spelled("limited", {"of": key, "n": n})} for n in range(number)]
    turn.write(EventType.TOKENS_ACCEPTED, round=0, tokens=tokens)
    return turn


def test_no_stream_keeps_another_out(floor: Floor) -> None:
    limited(floor, "limits: {concurrency: 1}, ")
    counting = Counting(0.02)
    floor.tools.behave("/limited", counting)
    many_calls(floor, "greedy", 20)
    with floor.dispatching():
        eventually(lambda: counting.bodies)
        modest = floor.turn("limited", key="modest", of="modest")
        modest.until(IntentState.SETTLED)
        served = [b"greedy" in body for body in counting.bodies]
        assert served.count(True) < 15
        eventually(lambda: len(counting.bodies) == 21)


def test_a_call_that_waits_for_room_says_so(floor: Floor) -> None:
    limited(floor, "limits: {concurrency: 1}, ")
    turn = floor.turn("limited")
    state, force = floor.ledger.read(TENANT, turn.key), floor.tables.current(TENANT)
    assert reasons_under(Unfolding(state, floor.clock()), force)(turn.intent) is None
    floor.clock.skip(2)
    assert reasons_under(Unfolding(state, floor.clock()), force)(turn.intent) == "limited"


def test_a_tool_whose_rate_is_used_up_was_asked_about_without_a_pause(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Asking] = []
    ask = Admissions.ask

    def counted(self: Admissions, asking: Asking) -> Admission | Refusal:
        asked.append(asking)
        return ask(self, asking)

    monkeypatch.setattr(Admissions, "ask", counted)
    limited(floor, "limits: {rate: 1/s}, ")
    turns = [floor.turn("limited", key=f"turn-{n}", n=n) for n in range(2)]
    with floor.dispatching():
        settled(turns)
    # Both at first, when nobody knew that the tool has limits; then once or twice when there is room again.
    assert len(asked) < 8


def test_a_limited_tool_was_shut_for_ever_once_the_database_went_away_before_its_call_was_tried(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(floor, "limits: {concurrency: 1}, ")
    warm, away = Ledger.warm, [False]

    def interrupted(self: Ledger, streams: Sequence[StreamName]) -> None:
        if streams and away[0]:
            away[0] = False
            raise LedgerUnavailable("away")
        warm(self, streams)

    monkeypatch.setattr(Ledger, "warm", interrupted)
    with floor.dispatching():
        floor.turn("limited", key="before").until(IntentState.SETTLED)
        away[0] = True
        floor.turn("limited", key="after").until(IntentState.SETTLED)
        assert not away[0]


def one_at_a_time() -> tuple[TableInForce, Desk, ReleasedCall]:
    """A table of which one call runs at once, and a released call under it."""
    document = table().table.document() | {"limits": {"concurrency": 1}}
    force = TableInForce(1, EffectTable.from_document(document))
    desk = Desk(force)
    desk.accept(spell("put", name="x"))
    return force, desk, ReleasedCall(StreamName.of("t", "k"), desk.intent("put").intent_id, "put")


def test_a_call_whose_retry_came_due_while_it_was_claimed_went_past_the_limits() -> None:
    force, desk, found = one_at_a_time()
    desk.claim(desk.intent("put"))
    desk.lose(desk.intent("put"), retry_after=1.0)
    claiming = _Claim(found, "w", DispatcherSettings())
    later = Unfolding(desk.state, desk.now + timedelta(seconds=2))
    assert (claiming(later, force), claiming.assignment, claiming.asking) == ((), None, None)
    # The control: once it is released it asks to be let in, and then it is sent.
    desk.wait(2)
    assert claiming(Unfolding(desk.state, desk.now), force) == ()
    assert claiming.asking is not None
    let_in = _Claim(found, "w", DispatcherSettings(), admitted_after=claiming.asking.after_attempt)
    assert let_in(Unfolding(desk.state, desk.now), force)


def test_a_place_that_was_given_for_an_earlier_attempt_let_a_later_one_in() -> None:
    """Its dispatcher had stood still: another had sent the call twice since, and its place was somebody else's."""
    force, desk, found = one_at_a_time()
    sleeper = _Claim(found, "sleeper", DispatcherSettings(), admitted_after=0)
    desk.claim(desk.intent("put"))
    desk.lose(desk.intent("put"), retry_after=1.0)
    desk.wait(2)
    assert desk.intent("put").state is IntentState.RELEASED
    unfolding = Unfolding(desk.state, desk.now)
    assert (sleeper(unfolding, force), sleeper.assignment) == ((), None)
    assert _Claim(found, "other", DispatcherSettings(), admitted_after=1)(unfolding, force)


def test_a_place_is_not_used_once_it_may_be_somebody_elses() -> None:
    force, desk, found = one_at_a_time()
    unfolding = Unfolding(desk.state, desk.now)
    for still, sent in ((False, False), (True, True)):
        claiming = _Claim(
            found, "w", DispatcherSettings(), admitted_after=0, still_admitted=lambda still=still: still
        )
        assert bool(claiming(unfolding, force)) is sent
