"""What every adapter of the upstream port must do, whatever it speaks. An adapter's test module derives from this class."""

import asyncio
from typing import Protocol

import pytest

from effects.classes import EffectClass
from effects.intent import ResultStatus
from gateway.turn.dispatching import Assignment
from gateway.upstream.port import Answered, MaybeSent, NotSent, Reply, Upstream
from tests.gateway.upstream.calls import assignment


class Tool(Protocol):
    """A real tool behind a real adapter; each method decides how it meets the next calls."""

    url: str

    def answers(self, content: object) -> None: ...
    def refuses(self, content: object) -> None: ...
    def fails_after_receiving(self) -> None: ...
    def dies_after_receiving(self) -> None: ...
    def dies_while_answering(self) -> None: ...
    def never_answers(self) -> None: ...
    def effects(self) -> int:
        """How many calls reached it."""
        ...


EFFECTS = tuple(EffectClass)


class UpstreamBehaviour:
    """Needs the fixtures ``tool``, ``make_upstream`` (a factory) and ``nowhere`` (a URL at which nothing listens)."""

    @pytest.fixture
    def send(self, make_upstream: type[Upstream]) -> object:
        def once(call: Assignment, timeout: float | None = 10.0) -> Reply:
            async def run() -> Reply:
                upstream = make_upstream()
                try:
                    return await upstream.send(call, timeout=timeout)
                finally:
                    await upstream.aclose()

            return asyncio.run(run())

        return once

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_an_answer_is_an_answer(self, tool: Tool, send, effect: EffectClass) -> None:
        tool.answers({"n": 1, "x": [True, None, "ü"]})
        assert send(assignment(tool.url, effect)) == Answered(
            ResultStatus.OK, {"n": 1, "x": [True, None, "ü"]}
        )
        assert tool.effects() == 1

    def test_a_refusal_of_the_tool_is_its_answer(self, tool: Tool, send) -> None:
        tool.refuses({"error": "no such order"})
        reply = send(assignment(tool.url))
        assert reply == Answered(ResultStatus.TOOL_ERROR, {"error": "no such order"})

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_nobody_there_means_not_sent(self, nowhere: str, send, effect: EffectClass) -> None:
        assert isinstance(send(assignment(nowhere, effect)), NotSent)

    def test_a_name_that_does_not_resolve_means_not_sent(self, send) -> None:
        assert isinstance(send(assignment("http://no-such-host.invalid/tool")), NotSent)

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_a_failure_after_receiving_is_unclear(self, tool: Tool, send, effect: EffectClass) -> None:
        tool.fails_after_receiving()
        assert isinstance(send(assignment(tool.url, effect)), MaybeSent)
        assert tool.effects() == 1

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_death_after_receiving_is_unclear_and_not_repeated(
        self, tool: Tool, send, effect: EffectClass
    ) -> None:
        tool.dies_after_receiving()
        assert isinstance(send(assignment(tool.url, effect)), MaybeSent)
        assert tool.effects() == 1

    def test_death_while_answering_is_unclear(self, tool: Tool, send) -> None:
        tool.dies_while_answering()
        assert isinstance(send(assignment(tool.url)), MaybeSent)

    @pytest.mark.parametrize("effect", EFFECTS)
    def test_silence_is_unclear_after_the_timeout(self, tool: Tool, send, effect: EffectClass) -> None:
        tool.never_answers()
        assert send(assignment(tool.url, effect), timeout=0.3) == MaybeSent("timeout")
        assert tool.effects() == 1

    def test_it_works_again_after_closing(self, tool: Tool, make_upstream) -> None:
        tool.answers({"n": 1})

        async def run() -> list[Reply]:
            upstream = make_upstream()
            replies = []
            for _ in range(2):
                replies.append(await upstream.send(assignment(tool.url), timeout=10))
                await upstream.aclose()
            return replies

        assert asyncio.run(run()) == [Answered(ResultStatus.OK, {"n": 1})] * 2
