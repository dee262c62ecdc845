"""Decisions that are asked for together look at the effect table together, and one that fails takes no other along."""

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from gateway.dispatcher.books import Books
from gateway.dispatcher.waves import AT_ONCE
from gateway.service.tables import EffectTables
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.append import Ledger
from ledger.change import SideRow
from ledger.errors import LedgerUnavailable
from ledger.events import EventType
from ledger.sharding import StreamName
from tests.gateway.dispatcher.floor import TENANT, Floor, floor_over
from tests.postgres import TestDatabase

NUMBER = 30


class Looks(EffectTables):
    """Counts how often somebody looks; ``away``: the next looks fail."""

    count = 0
    away = 0

    def current(self, tenant: str) -> TableInForce:
        self.count += 1
        if self.away:
            self.away -= 1
            raise LedgerUnavailable("away")
        return super().current(tenant)


@pytest.fixture
def floor(database: TestDatabase) -> Iterator[Floor]:
    with floor_over(database.service_url) as floor:
        yield floor


def label(unfolding: Unfolding, _force: TableInForce) -> tuple[SideRow, ...]:
    unfolding.emit(EventType.STREAM_FINISHED, {"reason": "stop"})
    return ()


def broken(_unfolding: Unfolding, _force: TableInForce) -> tuple[SideRow, ...]:
    raise ValueError("broken")


def named(floor: Floor) -> list[StreamName]:
    return [StreamName.of(TENANT, floor.draft("read", n=n).key) for n in range(NUMBER)]


def test_one_look_serves_all_who_ask_at_once(floor: Floor) -> None:
    looks = Looks(floor.ledger, floor.clock)
    books = Books(floor.ledger, looks, clock=floor.clock)
    streams = named(floor)

    async def together() -> None:
        decided = await asyncio.gather(*(books.decide(stream, label) for stream in streams))
        assert all(appended.state.finished == "stop" for appended in decided)

    asyncio.run(together())
    assert looks.count <= AT_ONCE

    async def one_by_one() -> None:
        for stream in named(floor):
            await books.decide(stream, label)

    looks.count = 0
    asyncio.run(one_by_one())
    assert looks.count == NUMBER, "the control: a look is never older than the question"
    books.close()


def test_one_that_fails_takes_no_other_along(floor: Floor) -> None:
    looks = Looks(floor.ledger, floor.clock)
    books = Books(floor.ledger, looks, clock=floor.clock)
    streams = named(floor)

    async def ask(n: int) -> object:
        return await books.decide(streams[n], broken if n % 2 else label)

    async def together() -> list[object]:
        return await asyncio.gather(*(ask(n) for n in range(NUMBER)), return_exceptions=True)

    told = asyncio.run(together())
    assert [isinstance(outcome, ValueError) for outcome in told] == [bool(n % 2) for n in range(NUMBER)]
    looks.away = 1

    async def away_and_back() -> None:
        with pytest.raises(LedgerUnavailable):
            await books.decide(streams[0], label)
        assert (await books.decide(streams[1], label)).state.finished == "stop"

    asyncio.run(away_and_back())
    books.close()


def test_streams_of_a_wave_are_read_together(floor: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = named(floor)
    stranger = Ledger(floor.engine, clock=floor.clock)
    read: list[int] = []
    warm = stranger.warm

    def counted(asked: Sequence[StreamName]) -> None:
        read.append(len(asked))
        warm(asked)

    monkeypatch.setattr(stranger, "warm", counted)
    monkeypatch.setattr(stranger, "append", lambda *_: pytest.fail("one was read by itself"))
    books = Books(stranger, EffectTables(floor.ledger, floor.clock), clock=floor.clock)

    async def together() -> None:
        decided = await asyncio.gather(*(books.decide(stream, label) for stream in streams))
        assert all(appended.state.finished == "stop" for appended in decided)

    asyncio.run(together())
    assert sum(read) == NUMBER
    assert len(read) <= AT_ONCE
    books.close()
    stranger.close()


def test_where_they_cannot_be_read_together_each_is_told_all_the_same(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = named(floor)
    stranger = Ledger(floor.engine, clock=floor.clock)

    def broken(_asked: Sequence[StreamName]) -> None:
        raise ValueError("an event that nobody can read")

    monkeypatch.setattr(stranger, "warm", broken)
    books = Books(stranger, EffectTables(floor.ledger, floor.clock), clock=floor.clock)

    async def together() -> None:
        async with asyncio.timeout(30):
            decided = await asyncio.gather(*(books.decide(stream, label) for stream in streams))
        assert all(appended.state.finished == "stop" for appended in decided)

    asyncio.run(together())
    books.close()
    stranger.close()
