"""Probes of calls in doubt: what they may settle, when, and that nothing is ever sent again for it."""

import pytest

from effects.intent import IntentState, ResultStatus
from gateway.principal import everyone
from gateway.service.brakes import KnownBrakes
from gateway.service.braking import Braking
from gateway.service.doubts import Doubts
from ledger.events import EventType
from tests.gateway.dispatcher.floor import TENANT, Floor, Turn, with_settings
from tests.gateway.toolserver import Held, eventually, ok, reset, status

CANCEL = (
    "{effect: WRITE, writes: ['order:{id}'], timeout: 1s, upstream: {http: 'URL/cancel'},"
    " probe: {tool: look, arguments: {id: '{id}', what: 'order {id}'}, happened: \"result.status == 'cancelled'\"}}"
)
LOOK = "{effect: READ_ONLY, reads: ['order:{id}'], timeout: 500ms, upstream: {http: 'URL/look'}}"
FAST_PROBES = with_settings(probe_pause=0.05, late_wait=0.2)


def cancelling(floor: Floor) -> None:
    floor.put_in_force(cancel=CANCEL, look=LOOK)


def doubtful(floor: Floor, **arguments: object) -> Turn:
    cancelling(floor)
    floor.tools.behave("/cancel", reset)
    return floor.turn("cancel", **(arguments or {"id": 7}))


def test_a_probe_that_finds_the_effect_settles_the_doubt(floor: Floor) -> None:
    floor.tools.behave("/look", ok({"status": "cancelled"}))
    turn = doubtful(floor)
    # Nothing can be on its way any more for an hour; that it happened is believed at once.
    with floor.dispatching(
        with_settings(probe_pause=0.05, late_wait=3600.0, lease_floor=0.3, lease_margin=0.1)
    ):
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.HAPPENED_UNKNOWN_RESULT
    [probed] = turn.of(EventType.DISPATCH_PROBED)
    assert (probed["verdict"], probed["tool"], probed["content"]) == (
        "happened",
        "look",
        {"status": "cancelled"},
    )
    [resolved] = turn.of(EventType.DISPATCH_RESOLVED)
    assert resolved["by"] == "probe"
    assert resolved["evidence"]["tool"] == "look"
    [asked] = floor.tools.received("/look")
    assert asked.body == b'{"id": 7, "what": "order 7"}'
    assert "idempotency-key" not in asked.headers
    assert len(floor.tools.received("/cancel")) == 1


def test_a_loss_that_the_dispatcher_itself_recorded_was_not_probed_until_the_lease_was_over(
    floor: Floor,
) -> None:
    floor.tools.behave("/look", ok({"status": "cancelled"}))
    turn = doubtful(floor)
    with floor.dispatching(with_settings(lease_floor=3600.0)):
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.HAPPENED_UNKNOWN_RESULT
    assert len(floor.tools.received("/cancel")) == 1


def test_that_nothing_happened_is_believed_only_once_nothing_can_be_on_its_way(floor: Floor) -> None:
    floor.tools.behave("/look", ok({"status": "open"}))
    turn = doubtful(floor)
    waiting = with_settings(probe_pause=0.05, late_wait=3600.0, lease_floor=0.3, lease_margin=0.1)
    with floor.dispatching(waiting):
        eventually(lambda: len(turn.of(EventType.DISPATCH_PROBED)) >= 2)
        assert {p["because"] for p in turn.of(EventType.DISPATCH_PROBED)} == {"may_still_arrive"}
        assert turn.intent.state is IntentState.IN_DOUBT
        floor.clock.skip(3601.0)
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.NOT_HAPPENED
    assert len(floor.tools.received("/cancel")) == 1


@pytest.mark.parametrize(
    "answer",
    [status(404), status(503), ok({"other": 1})],
    ids=["404", "503", "missing"],
)
def test_a_probe_that_says_nothing_leaves_the_doubt_and_is_tried_a_bounded_number_of_times(
    floor: Floor, answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.turn.probing.MAX_PROBES", 2)
    floor.tools.behave("/look", answer)  # type: ignore[arg-type]
    turn = doubtful(floor)
    floor_settings = with_settings(
        probe_pause=0.02, longest_probe_pause=0.02, late_wait=0.0, lease_floor=0.3, lease_margin=0.1
    )
    with floor.dispatching(floor_settings):
        eventually(lambda: len(turn.of(EventType.DISPATCH_PROBED)) == 2)
        asked = len(floor.tools.received("/look"))
        floor.turn("read").until(IntentState.SETTLED)
    assert turn.intent.state is IntentState.IN_DOUBT
    assert {p["verdict"] for p in turn.of(EventType.DISPATCH_PROBED)} == {"unknown"}
    assert len(floor.tools.received("/look")) == asked == 2


def test_a_call_that_is_awaited_still_is_not_probed_and_its_late_answer_settles_it(floor: Floor) -> None:
    held = floor.tools.hold("/cancel", ok({"done": True}))
    cancelling(floor)
    floor.tools.behave("/cancel", held)
    turn = floor.turn("cancel", id=7)
    with floor.dispatching(with_settings(probe_pause=0.05, lease_floor=0.3, lease_margin=0.1)):
        assert turn.until(IntentState.IN_DOUBT).reason == "timeout"
        floor.turn("read").until(IntentState.SETTLED)
        held.release()
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_content == {"done": True}
    assert not floor.tools.received("/look")


def test_a_late_outcome_after_a_probe_has_spoken_is_kept_as_evidence(floor: Floor) -> None:
    cancelling(floor)
    held: Held = floor.tools.hold("/cancel", ok({"done": True}))
    floor.tools.behave("/look", ok({"status": "open"}))
    turn = floor.turn("cancel", id=7)
    with floor.dispatching(with_settings(probe_pause=0.05, late_wait=20.0)):
        turn.until(IntentState.IN_DOUBT)
        # The prober's time runs ahead of the sender's: its request was on its way all the while.
        floor.clock.skip(60.0)
        assert turn.until(IntentState.SETTLED).result_status is ResultStatus.NOT_HAPPENED
        held.release()
        eventually(lambda: turn.of(EventType.DISPATCH_LATE))
    assert turn.intent.result_status is ResultStatus.NOT_HAPPENED
    assert len(floor.tools.received("/cancel")) == 1


def test_two_dispatchers_do_not_probe_one_doubt_at_once(floor: Floor) -> None:
    held = floor.tools.hold("/look", ok({"status": "cancelled"}))
    turn = doubtful(floor)
    floor.put_in_force(cancel=CANCEL, look=LOOK.replace("500ms", "20s"))
    settings = with_settings(probe_pause=30.0, lease_floor=1.0, lease_margin=0.1)
    with floor.dispatching(settings), floor.dispatching(settings):
        floor.tools.await_received("/look")
        for n in range(5):
            floor.turn("read", n=n).until(IntentState.SETTLED)
        held.release()
        turn.until(IntentState.SETTLED, final=True)
    assert len(floor.tools.received("/look")) == 1


def test_a_doubt_whose_call_lacks_what_the_probe_asks_for_waits_for_a_person(floor: Floor) -> None:
    turn = doubtful(floor, order="none")
    with floor.dispatching(FAST_PROBES):
        turn.until(IntentState.IN_DOUBT)
        floor.turn("read").until(IntentState.SETTLED)
    assert not floor.tools.received("/look")
    doubts = Doubts(floor.engine, floor.ledger, floor.tables, floor.clock)
    assert [d["commit_key"] for d in doubts.list(everyone(TENANT))] == [turn.key]


def test_a_probe_waits_while_its_tool_is_paused(floor: Floor) -> None:
    other = {
        name: text.replace("look", "peek").replace("URL/cancel", "URL/revoke")
        for name, text in (("revoke", CANCEL), ("peek", LOOK))
    }
    floor.put_in_force(cancel=CANCEL, look=LOOK, **other)
    for path in ("/cancel", "/revoke"):
        floor.tools.behave(path, reset)
    for path in ("/look", "/peek"):
        floor.tools.behave(path, ok({"status": "cancelled"}))
    braking = Braking(floor.engine, floor.tables, KnownBrakes(floor.engine, floor.clock))
    braking.pause(everyone(TENANT), "look")
    paused, free = floor.turn("cancel", key="paused", id=1), floor.turn("revoke", key="free", id=2)
    with floor.dispatching(FAST_PROBES):
        paused.until(IntentState.IN_DOUBT)
        free.until(IntentState.SETTLED, final=True)
        assert floor.tools.received("/look") == []
        braking.resume(everyone(TENANT), "look")
        assert (
            paused.until(IntentState.SETTLED, final=True).result_status
            is ResultStatus.HAPPENED_UNKNOWN_RESULT
        )


def test_probes_did_not_count_against_the_limits_of_the_tool_that_they_ask(floor: Floor) -> None:
    held = Held(ok({"status": "cancelled"}))
    floor.put_in_force(cancel=CANCEL, look=LOOK.replace("500ms", "20s, limits: {concurrency: 1}"))
    floor.tools.behave("/cancel", reset)
    floor.tools.behave("/look", held)
    turns = [floor.turn("cancel", id=number) for number in range(3)]
    with floor.dispatching(FAST_PROBES), floor.dispatching(FAST_PROBES):
        eventually(lambda: len(floor.tools.received("/look")) == 1)
        assert running(floor, "look") == 1
        for turn in turns:
            turn.until(IntentState.IN_DOUBT)
        read = floor.turn("look", id=9)
        # Whoever was let in holds the only place, and a call of the tool waits like the other probes.
        eventually(lambda: read.intent.state is IntentState.RELEASED)
        assert len(floor.tools.received("/look")) == 1
        held.release()
        for turn in turns:
            turn.until(IntentState.SETTLED, final=True)
        read.until(IntentState.SETTLED, final=True)
        eventually(lambda: running(floor, "look") == 0)
    assert len(floor.tools.received("/look")) == 4


def running(floor: Floor, tool: str) -> int:
    [use] = [use for use in floor.work.admissions.uses(TENANT) if use.tool == tool]
    return use.running


def test_a_place_that_never_saw_the_call_settled_its_doubt(floor: Floor) -> None:
    """It was sent to one place, and the table moved the tool and its probe to another."""
    floor.tools.behave("/cancel", reset)
    floor.tools.behave("/b/look", ok({"status": "open"}))
    floor.put_in_force(cancel=CANCEL, look=LOOK)
    turn = floor.turn("cancel", id=7)
    with floor.dispatching(with_settings(sweep_interval=3600.0)):
        turn.until(IntentState.IN_DOUBT)
    floor.put_in_force(cancel=CANCEL.replace("URL/", "URL/b/"), look=LOOK.replace("URL/", "URL/b/"))
    floor.clock.skip(60)
    with floor.dispatching(FAST_PROBES):
        floor.turn("read").until(IntentState.SETTLED)
        eventually(lambda: floor.work.doubts(range(256), 10) == [])
    assert turn.intent.state is IntentState.IN_DOUBT
    assert floor.tools.received("/b/look") == []


def test_who_was_refused_a_place_took_the_doubt_away_from_who_was_let_in(floor: Floor) -> None:
    floor.tools.behave("/cancel", reset)
    floor.tools.behave("/look", ok({"status": "cancelled"}))
    floor.put_in_force(cancel=CANCEL, look=LOOK.replace("500ms", "5s, limits: {rate: 100/h}"))
    turns = [floor.turn("cancel", id=number) for number in range(8)]
    with floor.dispatching(FAST_PROBES), floor.dispatching(FAST_PROBES):
        for turn in turns:
            turn.until(IntentState.SETTLED, final=True)
    assert len(floor.tools.received("/look")) == len(turns)
