"""A later attempt of a call remembers that an earlier one may have happened."""

import asyncio
from collections.abc import Callable

from effects.classes import EffectClass
from effects.intent import ResultStatus
from effects.upstream import Upstream
from gateway.dispatcher.call import Call
from gateway.dispatcher.claim import ClaimedCall
from gateway.dispatcher.leases import Lease
from gateway.dispatcher.settings import DispatcherSettings
from gateway.turn.dispatching import Assignment, Outcome
from gateway.upstream.port import Answered, NotSent, Reply
from ledger.sharding import StreamName

X = Upstream(http="http://x")


class Play:
    """One attempt of an IDEMPOTENT call against a scripted upstream, in time of its own; what was recorded of it."""

    def __init__(
        self, attempt: int, window_ends: float, reply: Callable[[int], Reply], *, unsent_before: int = 0
    ) -> None:
        self.now = 0.0
        self.sent: list[float] = []
        self.recorded: list[str] = []
        self._reply = reply
        assignment = Assignment(
            "t",
            "k",
            "i",
            attempt,
            1,
            "put",
            "{}",
            EffectClass.IDEMPOTENT,
            "key",
            X,
            30.0,
            3600.0,
            unsent_before=unsent_before,
        )
        lease = Lease(StreamName.of("t", "k"), "i", attempt, 1, 1e6, 0.0)
        call = Call(
            ClaimedCall(assignment, lease, window_ends),
            self,
            self,  # type: ignore[arg-type]
            DispatcherSettings(),
            monotonic=lambda: self.now,
            sleep=self._sleep,
        )
        asyncio.run(call.run())

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        self.sent.append(self.now)
        self.now += 10
        return self._reply(len(self.sent))

    async def aclose(self) -> None:
        return None

    async def settle(self, lease: Lease, outcome: Outcome) -> None:
        self.recorded.append(f"settled {outcome.status}")

    async def lose(self, lease: Lease, *, because: str, retry_after: float = 0.0) -> None:
        self.recorded.append(f"lost {because}")

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds


def test_connections_refused_at_the_second_attempt_do_not_make_the_call_certainly_unsent() -> None:
    play = Play(2, 1e5, lambda _n: NotSent("connect_failed"))
    assert play.recorded == ["lost connect_failed"]


def test_at_the_first_attempt_they_do() -> None:
    play = Play(1, 1e5, lambda _n: NotSent("connect_failed"))
    assert play.recorded == ["settled unavailable"]


def test_at_the_second_attempt_they_do_where_the_first_was_given_back() -> None:
    play = Play(2, 1e5, lambda _n: NotSent("connect_failed"), unsent_before=1)
    assert play.recorded == ["settled unavailable"]


def test_the_second_attempt_is_not_transmitted_after_the_window() -> None:
    play = Play(2, 15.0, lambda n: NotSent("connect_timeout") if n < 4 else Answered(ResultStatus.OK, {}))
    assert play.sent
    assert all(at < 15.0 for at in play.sent)
