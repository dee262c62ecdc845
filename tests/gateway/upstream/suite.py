"""What every adapter of the upstream port must do, whatever it speaks. An adapter's test module derives from this class."""

import json
from typing import Protocol

import pytest

from effects.classes import EffectClass
from effects.intent import ResultStatus
from gateway.turn.dispatching import Assignment
from gateway.upstream.content import TOO_LARGE
from gateway.upstream.port import Answered, Layer, MaybeSent, NotSent
from tests.gateway.toolserver import eventually
from tests.gateway.upstream.running import Running

EFFECTS = tuple(EffectClass)


class Bench(Protocol):
    """A real tool in a process or thread of its own. Each ``does_`` method decides how it meets the next calls."""

    def call(
        self,
        effect: EffectClass = EffectClass.WRITE,
        *,
        arguments: str = "{}",
        timeout: float = 10.0,
        key: str | None = "sha256:abc",
        max_result: int = 1 << 20,
        traceparent: str | None = None,
    ) -> Assignment: ...
    def unreachable(self, effect: EffectClass) -> Assignment:
        """A call to where nobody is."""
        ...

    def does_answer(self, content: object) -> None: ...
    def does_echo(self) -> None: ...
    def does_refuse(self, content: object) -> None: ...
    def does_answer_bytes(self, count: int) -> None: ...
    def does_answer_nonsense(self) -> None: ...
    def does_hold(self, content: object) -> None:
        """Nothing until ``release``, then answer."""
        ...

    def does_fail_in_protocol(self) -> None:
        """Answer with a JSON-RPC error."""
        ...

    def does_die(self) -> None:
        """Break the connection once the call has come."""
        ...

    def release(self) -> None: ...
    def said(self, content: object) -> object:
        """What the tool said, as given to ``does_answer``, in the content of a reply."""
        ...

    def received(self) -> list[bytes]:
        """The calls that reached it, as they came, from the tool's own log."""
        ...

    def finished(self) -> list[object]:
        """The arguments of the calls that came to their end."""
        ...

    def carried(self) -> dict[str, str | None]:
        """``commit_key``, ``intent_id``, ``idempotency_key`` and ``traceparent`` as the last call carried them."""
        ...


class UpstreamSuite:
    """Needs the fixtures ``bench`` and ``running``."""

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_an_answer_is_an_answer(self, bench: Bench, running: Running, effect: EffectClass) -> None:
        content = {"n": 1, "x": [True, None, "ü"], "f": 1.5}
        bench.does_answer(content)
        reply = running.send(bench.call(effect))
        assert isinstance(reply, Answered)
        assert reply.status is ResultStatus.OK
        assert bench.said(reply.content) == content
        assert len(bench.received()) == 1

    def test_a_refusal_of_the_tool_is_its_answer(self, bench: Bench, running: Running) -> None:
        bench.does_refuse({"error": "no such order"})
        reply = running.send(bench.call())
        assert isinstance(reply, Answered)
        assert (reply.status, reply.layer) == (ResultStatus.TOOL_ERROR, Layer.TOOL)
        assert bench.said(reply.content) == {"error": "no such order"}

    def test_an_error_of_the_protocol_is_the_tools_answer_however_well_it_travelled(
        self, bench: Bench, running: Running
    ) -> None:
        bench.does_fail_in_protocol()
        reply = running.send(bench.call())
        assert isinstance(reply, Answered)
        assert (reply.status, reply.layer) == (ResultStatus.TOOL_ERROR, Layer.PROTOCOL)
        assert "-32602" in json.dumps(reply.content)
        assert len(bench.received()) == 1

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_nobody_there_means_not_sent(self, bench: Bench, running: Running, effect: EffectClass) -> None:
        assert isinstance(running.send(bench.unreachable(effect)), NotSent)

    @pytest.mark.parametrize("effect", [EffectClass.IDEMPOTENT, EffectClass.WRITE])
    def test_no_effect_is_sent_without_its_key(
        self, bench: Bench, running: Running, effect: EffectClass
    ) -> None:
        assert running.send(bench.call(effect, key=None)) == NotSent("no_idempotency_key")
        assert bench.received() == []

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_a_transport_that_dies_after_the_call_came_leaves_it_unclear_and_sends_it_no_second_time(
        self, bench: Bench, running: Running, effect: EffectClass
    ) -> None:
        bench.does_die()
        assert isinstance(running.send(bench.call(effect)), MaybeSent)
        assert len(bench.received()) == 1

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_silence_is_unclear_after_the_timeout(
        self, bench: Bench, running: Running, effect: EffectClass
    ) -> None:
        bench.does_answer({})
        running.send(bench.call(effect))
        bench.does_hold({})
        assert running.send(bench.call(effect), timeout=0.3) == MaybeSent("timeout")
        assert len(bench.received()) == 2
        bench.release()

    @pytest.mark.parametrize("effect", [EffectClass.IDEMPOTENT, EffectClass.WRITE])
    def test_a_caller_that_goes_away_cancels_nothing_that_was_sent(
        self, bench: Bench, running: Running, effect: EffectClass
    ) -> None:
        bench.does_hold({"n": 1})
        call = bench.call(effect, arguments=json.dumps({"first": effect}))
        waiting = running.start(call, timeout=None)
        eventually(bench.received)
        waiting.cancel()
        bench.does_answer({"n": 2})
        reply = running.send(bench.call(effect))
        assert isinstance(reply, Answered)
        assert bench.said(reply.content) == {"n": 2}
        bench.release()
        eventually(lambda: {"first": effect} in bench.finished())
        assert len(bench.received()) == 2

    def test_an_answer_that_is_too_large_happened_and_its_beginning_is_kept(
        self, bench: Bench, running: Running
    ) -> None:
        bench.does_answer_bytes(200_000)
        reply = running.send(bench.call(max_result=10_000))
        assert isinstance(reply, Answered)
        assert reply.status is ResultStatus.OK
        assert isinstance(reply.content, dict)
        assert reply.content["because"] == TOO_LARGE
        assert reply.content["limit_bytes"] == 10_000
        assert reply.content["raw_base64"]
        assert len(bench.received()) == 1

    def test_an_answer_that_nobody_can_read_happened_and_is_kept_raw(
        self, bench: Bench, running: Running
    ) -> None:
        bench.does_answer_nonsense()
        reply = running.send(bench.call())
        assert isinstance(reply, Answered)
        assert reply.status is ResultStatus.OK
        assert len(bench.received()) == 1

    def test_calls_that_run_at_once_get_their_own_answers(self, bench: Bench, running: Running) -> None:
        bench.does_echo()
        replies = running.send_all([bench.call(arguments=json.dumps({"n": n})) for n in range(12)])
        said = [bench.said(reply.content) if isinstance(reply, Answered) else reply for reply in replies]
        assert said == [{"n": n} for n in range(12)]
        assert len(bench.received()) == 12

    def test_it_works_again_after_closing(self, bench: Bench, running: Running) -> None:
        bench.does_answer({"n": 1})
        for _ in range(2):
            assert isinstance(running.send(bench.call()), Answered)
            running.close_upstream()

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_a_call_carries_what_it_belongs_to(
        self, bench: Bench, running: Running, effect: EffectClass
    ) -> None:
        bench.does_answer({})
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        running.send(bench.call(effect, traceparent=trace))
        assert bench.carried() == {
            "commit_key": "turn-1",
            "intent_id": "intent-1",
            "idempotency_key": None if effect is EffectClass.READ_ONLY else "sha256:abc",
            "traceparent": trace,
        }

    def test_the_arguments_travel_as_the_bytes_that_were_accepted(
        self, bench: Bench, running: Running
    ) -> None:
        raw = '{ "b": 1.0, "a":"\\u00fc\\/",  "n": 1e2, "m": [1, 1.50, -0.0], "none": null }'
        bench.does_answer({})
        running.send(bench.call(arguments=raw))
        [received] = bench.received()
        assert raw.encode() in received
