"""Projections are what the events say: folded anew they give the rows that were written step by step."""

from sqlalchemy import Table, select

from ledger.fold import fold, initial
from ledger.projection import rows
from ledger.schema import branches, intents, of_stream, streams
from ledger.sharding import StreamName
from tests.ledger.story import KEY, accepted, drafted, held, opened, released, ruled, settled, started, these


def stored(engine, table: Table, stream: StreamName) -> list[dict[str, object]]:
    with engine.connect() as connection:
        query = select(table).where(of_stream(table, stream)).order_by(*table.primary_key)
        return [dict(row) for row in connection.execute(query).mappings()]


def test_rows_written_step_by_step_are_the_rows_of_the_whole(ledger, engine, tenant):
    steps = (
        (opened(), drafted(0, 8)),
        (held(),),
        (ruled(0, 8, 7, own=True), released()),
        (started(),),
        (accepted(8, 2), settled()),
    )
    for step in steps:
        ledger.append(tenant, KEY, these(*step))
    stream = StreamName.of(tenant, KEY)
    state = initial(tenant, KEY)
    for event in ledger.events(tenant, KEY, after=0, limit=100):
        state = fold(state, event)
    anew = rows(initial(tenant, KEY), state)
    name = stream.columns()
    assert stored(engine, streams, stream) == [{**name, **anew.stream}]
    assert stored(engine, branches, stream) == [{**name, **row} for row in anew.branches]
    assert stored(engine, intents, stream) == [{**name, **row} for row in anew.intents]
    assert anew.intents[0]["state"] == "settled"
