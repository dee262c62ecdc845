"""Tables that are in force already stay readable, whatever is refused of new ones since."""

import pytest

from effects.table import EffectTable
from gateway.errors import LiteralSecret
from gateway.principal import everyone
from gateway.service.tables import EffectTables
from gateway.turn.unfolding import Unfolding
from ledger.append import Change
from ledger.events import EFFECTS_STREAM, EventType
from ledger.state import StreamState
from tests.gateway.dispatcher.conftest import floor
from tests.gateway.dispatcher.floor import TENANT, Floor

__all__ = ["floor"]

OLD = {"tools": {"t": {"effect": "WRITE", "upstream": {"http": "http://127.0.0.1/t?api_key=once"}}}}


def take_as_before(floor: Floor) -> None:
    """Put ``OLD`` in force as a version did that did not look at the query of a URL."""
    table = EffectTable.from_document(OLD, accepted_before=True)

    def decide(state: StreamState) -> Change:
        unfolding = Unfolding(state, floor.clock())
        body = {
            "version": state.seq + 1,
            "digest": table.digest,
            "table": table.document(),
            "by": "an operator",
        }
        unfolding.emit(EventType.EFFECTS_CHANGED, body)
        return Change(unfolding.events)

    floor.ledger.append(TENANT, EFFECTS_STREAM, decide)


def test_a_table_with_a_secret_in_a_url_stays_readable_and_is_not_taken_again(floor: Floor) -> None:
    take_as_before(floor)
    for tables in (floor.tables, EffectTables(floor.ledger, floor.clock)):
        force = tables.current(TENANT)
        assert force.table.tools["t"].upstream.http == "http://127.0.0.1/t?api_key=once"
    with pytest.raises(LiteralSecret):
        floor.tables.apply(everyone(TENANT), force.table.document())
    floor.put_in_force()
    assert "t" not in floor.tables.current(TENANT).table.tools
