"""The sealed feed in log order, its filters, and what an export is made from."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from ledger.append import Ledger
from ledger.events import EventType
from ledger.evidence.tree import leaf_hash
from ledger.log import feed
from ledger.log.entries import SealedEvent, Wanted
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from ledger.payload import payload_digest
from tests.ledger import story
from tests.ledger.log.planted import START, TENANT, places, plant, raw

WANTED = [
    Wanted(tenant=TENANT),
    Wanted(tenant="nobody"),
    Wanted(commit_key="b"),
    Wanted(tenant=TENANT, commit_key="b"),
    Wanted(tenant=TENANT, commit_key="nothing"),
    Wanted(type=EventType.TOKENS_DRAFTED),
    Wanted(type=EventType.INTENT_HELD),
    Wanted(since=START + timedelta(seconds=2), until=START + timedelta(seconds=4)),
    Wanted(tenant=TENANT, commit_key="c", until=START + timedelta(seconds=1)),
]


def fits(wanted: Wanted, one: SealedEvent) -> bool:
    return (
        wanted.tenant in (None, one.tenant)
        and wanted.commit_key in (None, one.commit_key)
        and wanted.type in (None, one.event.type)
        and (wanted.since is None or wanted.since <= one.event.at)
        and (wanted.until is None or one.event.at < wanted.until)
    )


@pytest.fixture
def sealed(engine: Engine) -> int:
    """Three streams in several rounds; the size of the log."""
    sealer = Sealer(engine, lease_seconds=0.0)
    with raw(engine) as writer:
        for round_ in range(5):
            for key in ("a", "b", "c"):
                plant(writer, key, round_ * 4 + 1, round_ * 4 + 4, at=START + timedelta(seconds=round_))
            writer.commit()
            sealer.round()
    return 60


def everything(reader: LogReader, limit: int, wanted: Wanted = Wanted()) -> list[SealedEvent]:  # noqa: B008
    found: list[SealedEvent] = []
    after = -1
    while True:
        page = reader.events(after, limit, wanted)
        assert len(page.events) <= limit
        assert page.after > after or not page.more
        found += page.events
        after = page.after
        if not page.more:
            return found


def test_pages_of_any_length_give_the_log_in_order(engine: Engine, reader: LogReader, sealed: int) -> None:
    for limit in (1, 3, 7, 59, 60, 1000):
        found = everything(reader, limit)
        assert [(one.index, one.commit_key, one.event.seq) for one in found] == places(engine)
        assert len(found) == sealed
        assert {one.tenant for one in found} == {TENANT}


def test_filters_find_what_a_look_at_everything_finds(
    reader: LogReader, sealed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = everything(reader, 1000)
    for wanted in WANTED:
        fitting = [one for one in whole if fits(wanted, one)]
        for span, limit in ((1, 4), (5, 1), (5, 100), (1000, 4), (1000, 100)):
            monkeypatch.setattr(feed, "SPAN", span)
            assert everything(reader, limit, wanted) == fitting


def test_a_tailing_reader_of_one_stream_goes_on_where_it_was(
    engine: Engine, reader: LogReader, sealed: int
) -> None:
    wanted = Wanted(tenant=TENANT, commit_key="b")
    page = reader.events(-1, 1000, wanted)
    assert (page.after, page.more) == (sealed - 1, False)
    with raw(engine) as writer:
        plant(writer, "a", 21, 22)
        plant(writer, "b", 21, 21)
        writer.commit()
    Sealer(engine).round()
    assert [one.event.seq for one in reader.events(page.after, 1000, wanted).events] == [21]


def test_events_of_one_tool(engine: Engine, ledger: Ledger, reader: LogReader) -> None:
    ledger.append("x", "one", story.these(story.opened(), story.drafted(0, 8), story.held()))
    ledger.append("x", "two", story.these(story.opened()))
    Sealer(engine).round()
    page = reader.events(-1, 10, Wanted(tenant="x", tool="cancel_order"))
    assert [(one.commit_key, one.event.type) for one in page.events] == [("one", EventType.INTENT_HELD)]
    assert reader.events(-1, 10, Wanted(tenant="x", tool="else")).events == ()
    [held] = page.events
    assert [held.event] == [event for event in ledger.events("x", "one", 0, 10) if event.seq == 3]


def test_entries_are_what_the_leaves_are_made_of(reader: LogReader, sealed: int) -> None:
    entries, after = [], -1
    while page := reader.entries(after, 7):
        entries += page
        after = page[-1].index
    assert [entry.index for entry in entries] == list(range(sealed))
    for entry in entries:
        assert entry.envelope is not None
        assert entry.payload is not None
        assert entry.salt is not None
        assert leaf_hash(entry.envelope.encode()) == entry.leaf_hash
        assert payload_digest(entry.salt, entry.payload).hex() in entry.envelope


def test_of_other_tenants_an_export_holds_leaf_hashes_alone(
    engine: Engine, ledger: Ledger, reader: LogReader, sealed: int
) -> None:
    ledger.append("x", "one", story.these(story.opened()))
    Sealer(engine).round()
    entries = reader.entries(-1, 100, tenant="x")
    assert [entry.leaf_hash for entry in entries] == [entry.leaf_hash for entry in reader.entries(-1, 100)]
    assert [entry.index for entry in entries if entry.envelope] == [60]
    assert all(entry.payload is entry.salt is entry.tenant is None for entry in entries[:60])


def test_an_event_that_was_taken_away_is_a_place_without_one(
    engine: Engine, owner: Engine, reader: LogReader, sealed: int
) -> None:
    with owner.begin() as connection:
        connection.execute(text("alter table ledger.events disable trigger all"))
        connection.execute(text("delete from ledger.events where commit_key = 'b' and seq = 6"))
    index = reader.index_of(TENANT, "b", 6)
    entries = reader.entries(-1, 100)
    assert len(entries) == sealed
    assert [entry.index for entry in entries if entry.envelope is None] == [index]


def test_an_empty_log(reader: LogReader) -> None:
    assert reader.size() == 0
    assert reader.entries() == []
    assert (reader.events().events, reader.events().after, reader.events().more) == ((), -1, False)
    assert reader.checkpoint() is None
