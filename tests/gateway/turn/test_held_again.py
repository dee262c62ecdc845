"""A call that was let go and is called back: what the ledger is told of it."""

from tests.gateway.turn.desk import Desk, spell, table


def test_a_read_called_back_is_told_in_full_so_that_the_database_licenses_it_later() -> None:
    desk = Desk(table(reads="send"))
    write, read = spell("delete", name="x"), spell("read", name="x")
    end = desk.draft(write + read)
    early = desk.intent("read")
    assert desk.types(early) == ["intent.held", "intent.released"]
    desk.rule(end, end)  # cleared, and not sent yet: it may not run ahead of the write any more
    first, again = (e for e in desk.log if e.intent_id == early.intent_id and e.type == "intent.held")
    assert again.payload["reason"] == "earlier_calls"
    assert {k: v for k, v in again.payload.items() if k != "reason"} == first.payload
