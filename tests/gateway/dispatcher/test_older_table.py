"""Calls inside the database whose table was changed meanwhile are decided under the newer one, on a small pool too."""

import asyncio
import threading
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection

from gateway.dispatcher.books import INSIDE_THREADS, Books
from gateway.service.tables import EffectTables
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.append import Ledger
from ledger.change import SideRow
from ledger.connect import connect
from ledger.events import EventType
from ledger.sharding import StreamName
from tests.gateway.dispatcher.floor import TENANT, Floor
from tests.postgres import TestDatabase

MINE = "{effect: WRITE, writes: ['{id}'], upstream: {http: 'URL/a'}}"


@pytest.mark.parametrize("pool_size", [2, 10])
def test_it_asked_for_the_table_on_a_second_connection_while_it_held_rows(
    floor: Floor, database: TestDatabase, pool_size: int
) -> None:
    floor.put_in_force(mine=MINE)
    turns = [floor.turn("mine", id=number) for number in range(INSIDE_THREADS)]
    engine = connect(database.service_url, pool_size=pool_size)
    ledger = Ledger(engine, clock=floor.clock)
    books = Books(ledger, EffectTables(ledger, floor.clock), clock=floor.clock)
    inside, go_on, decided = threading.Barrier(INSIDE_THREADS + 1), threading.Event(), list[int]()

    def work(_connection: Connection) -> None:
        if not go_on.is_set():
            inside.wait(20)
            go_on.wait(20)

    def decide(_unfolding: Unfolding, force: TableInForce, _found: None) -> Sequence[SideRow]:
        decided.append(force.version)
        return ()

    async def run() -> None:
        streams = [StreamName.of(TENANT, turn.key) for turn in turns]
        await asyncio.gather(*(books.decide_with(stream, work, decide) for stream in streams))

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    inside.wait(20)
    floor.put_in_force(mine=MINE.replace("URL/a", "URL/b"))
    newest = floor.tables.current(TENANT).version
    for turn in turns:
        turn.write(EventType.STREAM_FINISHED, reason="stop")
    assert [turn.intent.effect_version for turn in turns] == [newest] * len(turns)
    go_on.set()
    thread.join(20)
    assert not thread.is_alive()
    books.close()
    ledger.close()
    engine.dispose()
    assert decided == [newest] * len(turns)


class Behind(EffectTables):
    """Still believes in the table that was in force when it was made."""

    def __init__(self, ledger: Ledger, known: TableInForce) -> None:
        super().__init__(ledger, lambda: datetime.now(UTC))
        self._known = known

    def current(self, tenant: str) -> TableInForce:
        known, self._known = self._known, super().current(tenant)
        return known


def test_what_others_decided_under_a_newer_table_was_decided_about_under_the_older(floor: Floor) -> None:
    floor.put_in_force(mine=MINE)
    known = floor.tables.current(TENANT)
    turn = floor.draft("mine", id=1)
    floor.put_in_force(mine=MINE.replace("URL/a", "URL/b"))
    turn.accept()
    decided: list[int] = []

    def decide(_unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        decided.append(force.version)
        return ()

    books = Books(floor.ledger, Behind(floor.ledger, known), clock=floor.clock)
    asyncio.run(books.decide(StreamName.of(TENANT, turn.key), decide))
    books.close()
    assert set(decided) == {floor.tables.current(TENANT).version}
