"""What a dispatcher sends, how often, and what it records of it."""

import json

import pytest

from effects.intent import IntentState, ResultStatus
from gateway.turn.dispatching import Assignment
from gateway.upstream.port import Answered, Reply
from ledger.events import EventType
from ledger.sharding import StreamName
from ledger.state import Intent
from tests.gateway.dispatcher.floor import TENANT, Floor, Pauses, spelled, with_settings
from tests.gateway.toolserver import Exchange, eventually, half, ok, reset, status

UNCLEAR = [status(503), status(408), status(302), reset, half]


@pytest.mark.parametrize("tool", ["read", "put", "set", "write"])
def test_a_call_is_sent_once_and_settled(floor: Floor, tool: str) -> None:
    floor.tools.behave(f"/{tool}", ok({"n": 1}))
    turn = floor.turn(tool, key="a", n=1.0)
    with floor.dispatching():
        intent = turn.until(IntentState.SETTLED, final=True)
    assert (intent.result_status, intent.result_content) == (ResultStatus.OK, {"n": 1})
    [received] = floor.tools.received(f"/{tool}")
    assert received.body == (intent.arguments_raw or "").encode()
    assert received.headers["commit-key"] == turn.key
    assert received.headers["intent-id"] == intent.intent_id
    assert received.headers.get("idempotency-key") == intent.idempotency_key
    assert (intent.idempotency_key is None) == (tool == "read")
    [licence] = floor.licences(turn)
    assert (licence["open"], licence["unsent"]) == (False, False)
    assert licence["once_key"] == (intent.intent_id if tool == "write" else None)


@pytest.mark.parametrize("tool", ["read", "write"])
def test_the_dispatch_is_durable_before_the_tool_hears_of_it(floor: Floor, tool: str) -> None:
    turn = floor.draft(tool, key="a")
    seen: list[tuple[int, int]] = []

    def look(exchange: Exchange) -> None:
        # Another connection than the dispatcher's: what it sees is committed.
        seen.append((len(turn.of(EventType.DISPATCH_STARTED)), len(floor.licences(turn))))
        exchange.answer(200, b"{}")

    floor.tools.behave(f"/{tool}", look)
    turn.accept()
    with floor.dispatching():
        turn.until(IntentState.SETTLED)
    assert seen == [(1, 1)]


def test_an_effect_is_held_while_its_block_is_undecided_and_never_sent_if_rejected(floor: Floor) -> None:
    read, write = floor.draft("read"), floor.draft("write", key="a")
    with floor.dispatching():
        read.until(IntentState.SETTLED, final=False)
        assert write.intent.state is IntentState.HELD
        write.reject()
        other = floor.turn("write", key="b")
        other.until(IntentState.SETTLED)
        assert write.intent.state is IntentState.VOIDED
    assert len(floor.tools.received("/write")) == 1


def test_the_outcome_of_a_voided_early_read_is_kept(floor: Floor) -> None:
    held = floor.tools.hold("/read", ok({"n": 7}))
    turn = floor.draft("read")
    with floor.dispatching():
        floor.tools.await_received("/read")
        turn.reject()
        held.release()
        eventually(lambda: turn.of(EventType.DISPATCH_SETTLED))
    assert turn.intent.state is IntentState.VOIDED
    assert turn.of(EventType.DISPATCH_SETTLED)[0]["content"] == {"n": 7}
    assert not turn.intent.final


@pytest.mark.parametrize("tool", ["write", "set"])
@pytest.mark.parametrize("unclear", UNCLEAR)
def test_what_may_have_happened_is_in_doubt_and_never_sent_again(floor: Floor, tool: str, unclear) -> None:
    floor.tools.behave(f"/{tool}", unclear)
    turn = floor.turn(tool, key="a")
    with floor.dispatching():
        turn.until(IntentState.IN_DOUBT)
        other = floor.turn("read")
        other.until(IntentState.SETTLED)
    assert len(floor.tools.received(f"/{tool}")) == 1
    assert turn.types.count("dispatch.started") == 1
    [licence] = floor.licences(turn)
    assert (licence["open"], licence["unsent"]) == (False, False)


@pytest.mark.parametrize("unclear", UNCLEAR)
def test_a_read_is_tried_again(floor: Floor, unclear) -> None:
    floor.tools.behave("/read", unclear, unclear, ok({"n": 3}))
    turn = floor.turn("read")
    with floor.dispatching():
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_content == {"n": 3}
    assert turn.of(EventType.DISPATCH_SETTLED)[0]["tries"] == 3
    assert turn.types.count("dispatch.started") == 1


def test_a_read_that_times_out_is_tried_again(floor: Floor) -> None:
    floor.put_in_force(timeout="300ms")
    held = floor.tools.hold("/read")
    floor.tools.behave("/read", held, ok({"n": 3}))
    turn = floor.turn("read")
    with floor.dispatching():
        assert turn.until(IntentState.SETTLED).result_content == {"n": 3}
    assert len(floor.tools.received("/read")) == 2


def test_a_read_is_unavailable_after_five_tries(floor: Floor) -> None:
    floor.tools.behave("/read", status(503))
    turn, pauses = floor.turn("read"), Pauses()
    with floor.dispatching(with_settings(backoff=0.1), sleep=pauses):
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.UNAVAILABLE
    assert intent.result_content == {"because": "http_503"}
    assert len(floor.tools.received("/read")) == 5
    assert pauses.asked == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert [licence["unsent"] for licence in floor.licences(turn)] == [False]


def test_a_write_that_cannot_be_sent_is_unavailable_after_five_tries_and_known_unsent(floor: Floor) -> None:
    turn, pauses = floor.turn("gone", key="a"), Pauses()
    with floor.dispatching(with_settings(backoff=0.1), sleep=pauses):
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.UNAVAILABLE
    [settled] = turn.of(EventType.DISPATCH_SETTLED)
    assert (settled["unsent"], settled["tries"]) == (True, 5)
    assert pauses.asked == pytest.approx([0.1, 0.2, 0.4, 0.8])
    [licence] = floor.licences(turn)
    assert (licence["open"], licence["unsent"], licence["once_key"]) == (False, True, None)


def test_idempotent_calls_are_sent_again_with_one_key_until_settled(floor: Floor) -> None:
    floor.tools.behave("/put", *[status(503)] * 7, ok({"n": 1}))
    turn = floor.turn("put", key="a")
    with floor.dispatching():
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.attempts == 2
    assert turn.types.count("dispatch.expired") == 1
    received = floor.tools.received("/put")
    assert len(received) == 8
    assert {r.headers["idempotency-key"] for r in received} == {intent.idempotency_key}


def test_an_idempotent_call_waits_before_it_is_dispatched_again(floor: Floor) -> None:
    floor.tools.behave("/put", *[status(503)] * 5, ok({"n": 1}))
    turn = floor.turn("put", key="a")
    with floor.dispatching(with_settings(retry_pause=50.0)):
        eventually(lambda: turn.of(EventType.DISPATCH_EXPIRED))
        other = floor.turn("read")
        other.until(IntentState.SETTLED)
        assert turn.intent.state is IntentState.HELD
        assert len(floor.tools.received("/put")) == 5
        floor.clock.skip(51)
        turn.until(IntentState.SETTLED)


def test_an_idempotent_call_is_in_doubt_once_its_window_is_over(floor: Floor) -> None:
    floor.tools.behave("/put", status(503))
    turn = floor.turn("put", key="a")
    with floor.dispatching(with_settings(retry_pause=50.0)):
        eventually(lambda: turn.of(EventType.DISPATCH_EXPIRED))
        sent = len(floor.tools.received("/put"))
        floor.clock.skip(3601)
        turn.until(IntentState.IN_DOUBT)
    assert len(floor.tools.received("/put")) == sent == 5
    assert floor.work.expired_leases(range(256), 10) == []


def test_a_refusal_of_the_tool_settles(floor: Floor) -> None:
    floor.tools.behave("/write", status(422, b'{"error": "no"}'))
    turn = floor.turn("write", key="a")
    with floor.dispatching():
        intent = turn.until(IntentState.SETTLED, final=True)
    assert (intent.result_status, intent.result_content) == (ResultStatus.TOOL_ERROR, {"error": "no"})


def test_a_write_that_times_out_is_in_doubt_at_once_and_its_late_answer_settles_it(floor: Floor) -> None:
    floor.put_in_force(timeout="200ms")
    held = floor.tools.hold("/write", ok({"n": 9}))
    turn = floor.turn("write", key="a")
    with floor.dispatching(with_settings(concurrency=1)):
        turn.until(IntentState.IN_DOUBT)
        assert [licence["open"] for licence in floor.licences(turn)] == [False]
        # Waiting for the late answer does not take the only place.
        floor.turn("read").until(IntentState.SETTLED)
        held.release()
        intent = turn.until(IntentState.SETTLED, final=True)
    assert (intent.result_status, intent.result_content) == (ResultStatus.OK, {"n": 9})
    assert turn.types.count("dispatch.late") == 1
    assert len(floor.tools.received("/write")) == 1


def test_an_answer_beyond_the_late_wait_leaves_the_doubt(floor: Floor) -> None:
    floor.put_in_force(timeout="200ms")
    floor.tools.hold("/write")
    turn = floor.turn("write", key="a")
    with floor.dispatching(with_settings(late_wait=0.2)) as dispatcher:
        turn.until(IntentState.IN_DOUBT)
        eventually(lambda: not dispatcher._late)
    assert turn.intent.state is IntentState.IN_DOUBT
    assert turn.types.count("dispatch.late") == 0


class Broken:
    """An adapter with a defect."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.reply = reply

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        if self.reply is None:
            raise RuntimeError("a defect")
        return self.reply

    async def aclose(self) -> None:
        pass


def test_an_adapter_that_breaks_leaves_a_write_in_doubt(floor: Floor) -> None:
    turn = floor.turn("write", key="a")
    with floor.dispatching(upstream=Broken()):
        assert turn.until(IntentState.IN_DOUBT).reason == "upstream_failed"


def test_an_answer_that_cannot_be_written_is_recorded_without_its_content(floor: Floor) -> None:
    turn = floor.turn("write", key="a")
    with floor.dispatching(upstream=Broken(Answered(ResultStatus.OK, float("nan")))):
        intent = turn.until(IntentState.SETTLED, final=True)
    assert intent.result_status is ResultStatus.OK
    assert "unwritable" in str(intent.result_content)


def test_writes_of_one_stream_go_in_order_and_streams_run_at_once(floor: Floor) -> None:
    held = floor.tools.hold("/write")
    keys = [two_writes(floor) for _ in range(4)]
    with floor.dispatching():
        floor.tools.await_received("/write", 4)
        assert sorted(sent(floor)) == sorted((key, "first") for key in keys)
        held.release()
        eventually(lambda: all(intent.final for key in keys for intent in intents(floor, key)))
    for key in keys:
        assert [which for of, which in sent(floor) if of == key] == ["first", "second"]


def two_writes(floor: Floor) -> str:
    """A stream of two accepted WRITE calls."""
    turn = floor.draft("write", which="first")
    second = [{"text": spelled("write", {"which": "second"})}]
    turn.write(EventType.TOKENS_DRAFTED, round=0, start=2, tokens=second)
    turn.write(EventType.TOKENS_RULED, round=0, start=0, end=3, accepted=3)
    return turn.key


def intents(floor: Floor, key: str) -> list[Intent]:
    return list(floor.ledger.read(TENANT, key).intents.values())


def sent(floor: Floor) -> list[tuple[str, str]]:
    """Of which stream, and which of its calls, in the order of their arrival."""
    return [(r.headers["commit-key"], json.loads(r.body)["which"]) for r in floor.tools.received("/write")]


def test_no_more_calls_run_than_there_are_places(floor: Floor) -> None:
    held = floor.tools.hold("/read")
    turns = [floor.turn("read") for _ in range(6)]
    with floor.dispatching(with_settings(concurrency=2)):
        floor.tools.await_received("/read", 2)
        assert sum(turn.intent.state is IntentState.DISPATCHED for turn in turns) == 2
        assert len(floor.tools.received("/read")) == 2
        held.release()
        for turn in turns:
            turn.until(IntentState.SETTLED)


def test_a_dispatcher_serves_its_shards_only(floor: Floor) -> None:
    mine, other = floor.turn("read"), floor.turn("read")
    shards = [StreamName.of(TENANT, turn.key).shard for turn in (mine, other)]
    assert shards[0] != shards[1]
    with floor.dispatching(with_settings(shards=(shards[0],))):
        mine.until(IntentState.SETTLED)
    assert other.intent.state is IntentState.RELEASED


def test_it_wakes_before_the_poll(floor: Floor) -> None:
    with floor.dispatching(with_settings(poll_interval=600.0, sweep_interval=600.0)) as dispatcher:
        first = floor.turn("read")
        dispatcher.wake()
        first.until(IntentState.SETTLED)
        second = floor.turn("read")
        dispatcher.wake()
        second.until(IntentState.SETTLED)


def test_stopping_lets_running_calls_finish_and_claims_nothing_more(floor: Floor) -> None:
    held = floor.tools.hold("/write", ok({"n": 1}))
    running = floor.turn("write", key="a")
    dispatcher = floor.dispatcher()
    dispatcher.start()
    floor.tools.await_received("/write")
    dispatcher._stopped.set()
    waiting = floor.turn("write", key="b")
    held.release()
    dispatcher.stop()
    assert not dispatcher.alive
    assert running.intent.state is IntentState.SETTLED
    assert waiting.intent.state is IntentState.RELEASED
