"""One port for every kind of upstream."""

import asyncio

import pytest

from effects.intent import ResultStatus
from effects.upstream import Upstream
from gateway.turn.dispatching import Assignment
from gateway.upstream.port import Answered, NotSent, Reply
from gateway.upstream.routing import NOT_WIRED, Routes
from tests.gateway.upstream.calls import assignment


class Recording:
    """An adapter that answers with its name."""

    def __init__(self, name: str, *, breaks: bool = False) -> None:
        self.name = name
        self.closed = False
        self._breaks = breaks

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        return Answered(ResultStatus.OK, self.name)

    async def aclose(self) -> None:
        self.closed = True
        if self._breaks:
            raise OSError(self.name)


def test_a_call_goes_to_the_adapter_of_its_kind() -> None:
    routes = Routes({"http": Recording("http"), "mcp": Recording("mcp")})
    call = assignment("http://x")
    assert asyncio.run(routes.send(call, timeout=1)) == Answered(ResultStatus.OK, "http")
    call = assignment(upstream=Upstream(mcp="shop"))
    assert asyncio.run(routes.send(call, timeout=1)) == Answered(ResultStatus.OK, "mcp")


def test_a_kind_that_this_process_does_not_speak_is_certainly_not_sent_and_not_tried_again() -> None:
    reply = asyncio.run(
        Routes({"http": Recording("http")}).send(assignment(upstream=Upstream(mcp="shop")), timeout=1)
    )
    assert isinstance(reply, NotSent)
    assert (reply.because, reply.lasting) == (NOT_WIRED, True)


def test_one_adapter_that_does_not_close_keeps_no_other_open() -> None:
    broken, other = Recording("a", breaks=True), Recording("b")
    with pytest.raises(OSError, match="a"):
        asyncio.run(Routes({"http": broken, "mcp": other}).aclose())
    assert other.closed
