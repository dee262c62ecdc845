"""Projections can be dropped and rebuilt from events to the same rows (design.md, "The ledger")."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, create_engine, text

from ledger import rebuild as rebuilding
from ledger.append import Ledger
from ledger.connect import connect
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn
from tests.postgres import TestDatabase

KEPT = ("dispatches", "batches", "events")
PROJECTED = ("streams", "branches", "intents")


@pytest.fixture
def engine(database: TestDatabase) -> Iterator[Engine]:
    service = connect(database.service_url)
    yield service
    service.dispose()


@pytest.fixture
def owner(database: TestDatabase) -> Iterator[Engine]:
    admin = create_engine(database.admin_url)
    yield admin
    admin.dispose()


@pytest.fixture
def lived(engine: Engine) -> Engine:
    """Two turns with an early read thrown away, a cut, a redraft and a doubt."""
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    for key in ("one", "two"):
        turn = LiveTurn(ledger, "t", key)
        turn.draft(spell("delete", name="a") + spell("read", name="a"))
        turn.call("read")
        main = turn.state.branches["main"]
        turn.rule(main.drafted_end, 5, "?")
        turn.draft(spell("create", name="b") + spell("read", name="b"))
        main = turn.state.branches["main"]
        turn.rule(main.drafted_end, main.drafted_end - main.head)
        turn.claim("create")
        turn.lose("create")
    return engine


def dump(engine: Engine, tables: tuple[str, ...]) -> dict[str, list[tuple[object, ...]]]:
    with engine.connect() as connection:
        return {
            table: sorted(
                tuple(map(str, row)) for row in connection.execute(text(f"select * from ledger.{table}"))
            )
            for table in tables
        }


def test_a_living_ledger_is_what_its_events_amount_to(lived: Engine) -> None:
    assert list(rebuilding.check(lived)) == []


def test_dropped_projections_come_back_equal_and_nothing_else_is_touched(
    lived: Engine, owner: Engine
) -> None:
    before = dump(owner, PROJECTED + KEPT)
    assert before["intents"]
    with owner.begin() as connection:
        connection.execute(text("truncate ledger.streams, ledger.branches, ledger.intents"))
    assert {d.table for d in rebuilding.check(lived)} == set(PROJECTED)
    assert rebuilding.rebuild(lived) == 2
    assert dump(owner, PROJECTED + KEPT) == before
    assert list(rebuilding.check(lived)) == []


@pytest.mark.parametrize(
    ("spoil", "table", "detail"),
    [
        ("update ledger.intents set final = not final where tool = 'create'", "intents", "differs in final"),
        ("update ledger.branches set head = head + 1", "branches", "main differs in head"),
        ("update ledger.streams set writer_epoch = 9", "streams", "differs in writer_epoch"),
        ("delete from ledger.intents where tool = 'create'", "intents", "is missing"),
        (
            "insert into ledger.branches select shard, tenant, commit_key, 'ghost', 0, 0, 0 from ledger.branches",
            "branches",
            "ghost is not in the events",
        ),
    ],
)
def test_a_projection_that_was_spoiled_is_named_and_mended(
    lived: Engine, owner: Engine, spoil: str, table: str, detail: str
) -> None:
    with owner.begin() as connection:
        connection.execute(text(spoil))
    found = list(rebuilding.check(lived))
    assert len(found) == 2
    assert {d.table for d in found} == {table}
    assert all(detail in d.detail for d in found)
    rebuilding.rebuild(lived)
    assert list(rebuilding.check(lived)) == []


def test_rows_of_a_stream_without_events_are_found_and_removed(lived: Engine, owner: Engine) -> None:
    with owner.begin() as connection:
        connection.execute(text("insert into ledger.branches values (7, 't', 'never', 'main', 0, 0, 0)"))
    assert [(d.commit_key, d.table) for d in rebuilding.check(lived)] == [("never", "branches")]
    rebuilding.rebuild(lived)
    assert list(rebuilding.check(lived)) == []
