"""A writer's login that INSERTs past the ledger spoils one stream: it is named, and every other is as it was."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from ledger import rebuild as rebuilding
from ledger.append import Ledger
from ledger.connect import connect
from ledger.errors import UnreadableStream
from ledger.log.entries import Wanted
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from ledger.reconcile.run import Options, run
from ledger.sharding import SHARDS, StreamName
from ledger.timeline import timeline
from tests.ledger import barewriter, spoilt
from tests.ledger.audit.asking import VIEWS, auditor_of
from tests.ledger.liveturn import LiveTurn
from tests.ledger.planting import Planter
from tests.ledger.story import opened, these
from tests.postgres import TestDatabase

BAD = {spoil.__name__: spoil for spoil in barewriter.UNREADABLE}
SAID = {"without_json": True, "without_branch": False, "without_kind": False}
"""Whether the views of auditors find the stream unreadable; what is folded in Python alone they need not."""


@pytest.fixture
def engine(database: TestDatabase) -> Iterator[Engine]:
    service = connect(database.service_url)
    yield service
    service.dispose()


@pytest.fixture
def ledger(engine: Engine) -> Ledger:
    made = Ledger(engine, clock=lambda: datetime.now(UTC))
    for key in ("a", "z"):
        made.append("t", key, these(opened()))
    return made


@pytest.fixture
def spoiled(engine: Engine, ledger: Ledger) -> Ledger:
    for key, spoil in BAD.items():
        spoil(engine, StreamName.of("t", key))
    return ledger


def test_the_row_of_a_stream_in_another_shard_is_refused(engine: Engine, ledger: Ledger) -> None:
    """It was accepted and sealed: from then on every verification and every export said seq_wrong."""
    name = StreamName.of("t", "a")
    elsewhere = name._replace(shard=(name.shard + 1) % SHARDS)
    with pytest.raises(IntegrityError, match="its shard is"):
        barewriter.count(engine, elsewhere, 1)
    with engine.connect() as connection, pytest.raises(IntegrityError, match="its shard is"):
        connection.exec_driver_sql(
            "update ledger.streams set shard = (shard + 1) & 255 where commit_key = 'a'"
        )


def test_every_stream_has_a_row_in_the_shard_that_python_names(engine: Engine) -> None:
    for tenant, key in (("", ""), ("ü", "k"), ("default", "turn-1"), ("a\u2028", "b" * 300)):
        barewriter.count(engine, StreamName.of(tenant, key), 1)


def test_what_stands_in_another_shard_all_the_same_is_not_sealed(
    engine: Engine, ledger: Ledger, database: TestDatabase
) -> None:
    """A restore may have brought such a row: it was sealed, and no log can take that back."""
    name = StreamName.of("t", "b")
    elsewhere = name._replace(shard=(name.shard + 1) % SHARDS)
    barewriter.write(engine, elsewhere, 1, "stream.opened", barewriter.OPENED)
    planter = Planter(database.admin_url)
    with planter.engine.begin() as connection:
        connection.exec_driver_sql("alter table ledger.streams disable trigger streams_in_their_shard")
        connection.exec_driver_sql(
            f"insert into ledger.streams (shard, tenant, commit_key, seq, writer_epoch)"
            f" values ({elsewhere.shard}, 't', 'b', 1, 1)"
        )
        connection.exec_driver_sql("alter table ledger.streams enable always trigger streams_in_their_shard")
    planter.close()
    done = Sealer(engine, lease_seconds=0).round()
    assert (done.events, done.broken) == (2, (elsewhere,))


@pytest.mark.parametrize("bad", BAD)
def test_a_stream_that_cannot_be_read_is_said_to_be(spoiled: Ledger, bad: str) -> None:
    with pytest.raises(UnreadableStream) as refused:
        spoiled.read("t", bad)
    assert (refused.value.code, refused.value.commit_key) == ("stream_unreadable", bad)


def test_comparing_and_rebuilding_go_on_behind_streams_that_cannot_be_read(
    engine: Engine, spoiled: Ledger
) -> None:
    """They stopped at the first, without its name: what came behind it was never looked at."""
    found = {(one.commit_key, one.table, one.detail.partition(":")[0]) for one in rebuilding.check(engine)}
    assert found == {(key, "events", "stream_unreadable") for key in BAD}
    passed: list[rebuilding.Difference] = []
    assert rebuilding.rebuild(engine, passed_over=passed.append) == 2
    assert {one.commit_key for one in passed} == set(BAD)
    with pytest.raises(UnreadableStream):
        rebuilding.rebuild(engine)


def test_a_value_that_no_row_can_hold_is_one_streams_trouble(engine: Engine, ledger: Ledger) -> None:
    name = StreamName.of("t", "odd")
    opened_oddly = barewriter.OPENED.replace('"writer_epoch":1', '"writer_epoch":"first"')
    barewriter.write(engine, name, 1, "stream.opened", opened_oddly)
    barewriter.count(engine, name, 1)
    passed: list[rebuilding.Difference] = []
    assert rebuilding.rebuild(engine, passed_over=passed.append) == 2
    assert [one.commit_key for one in passed] == ["odd"]


def test_the_feed_and_the_story_show_what_cannot_be_read_and_go_on(engine: Engine, spoiled: Ledger) -> None:
    while Sealer(engine, lease_seconds=0).round().events:
        pass
    page = LogReader(engine).events(wanted=Wanted(tenant="t"))
    assert len(page.events) == 2 + 2 * len(BAD)
    odd = {(e.commit_key, e.event.type.value) for e in page.events if e.event.unreadable}
    assert odd == {("without_json", "tokens.accepted"), ("without_kind", "tokens.invented")}
    lines = timeline(spoiled.events("t", "without_json", 0, 10))
    assert [line.text for line in lines][1] == "tokens.accepted (stream_unreadable)"


def test_reconciliation_finds_them_and_goes_on(engine: Engine, spoiled: Ledger) -> None:
    now = datetime.now(UTC) + timedelta(hours=1)
    done = run(engine, "t", Options(), now=now)
    kinds = {finding.commit_key: finding.kind.value for finding in done.findings}
    assert kinds["without_json"] == kinds["without_kind"] == "unreadable_stream"
    assert done.summary.streams == 2 + len(BAD)


def test_what_is_of_another_kind_is_one_streams_trouble(engine: Engine, ledger: Ledger, report) -> None:
    """Reconciliation ended at a list where a number should stand, and a rebuild at a source that no row may have."""
    chosen = Random(0).sample(spoilt.every(spoilt.histories(ledger, "elsewhere")), 150)
    for number, one in enumerate(chosen):
        spoilt.plant(engine, StreamName.of("t", f"spoilt-{number}"), one)
    done = run(engine, "t", Options(), now=datetime.now(UTC) + timedelta(hours=1))
    found = Counter(finding.kind.value for finding in done.findings)
    assert (done.summary.streams, bool(found["unreadable_stream"])) == (2 + len(chosen), True)
    passed: list[rebuilding.Difference] = []
    rebuilt = rebuilding.rebuild(engine, passed_over=passed.append)
    assert (rebuilt + len(passed), bool(passed)) == (2 + len(chosen) + 6, True)
    assert {one.commit_key for one in rebuilding.check(engine)} == {one.commit_key for one in passed}
    report(f"members of another kind in {len(chosen)} streams: {len(passed)} unreadable, {dict(found)}")


@pytest.mark.parametrize(
    ("constraint", "column", "value"),
    [
        ("events_at_in_the_calendar", "at", "'infinity'"),
        ("events_at_in_the_calendar", "at", "'-infinity'"),
        ("events_at_in_the_calendar", "at", "'10000-01-01'"),
        ("events_at_in_the_calendar", "at", "'0044-03-15 BC'"),
        ("events_payload_one_line", "payload", "payload || E'\\n'"),
        ("events_payload_one_line", "payload", "E'{\\t}'"),
        ("events_fit_a_line", "payload", "repeat('x', 134000000)"),
        ("events_fit_a_line", "type", "repeat(chr(1), 22333333)"),
    ],
)
def test_what_no_export_and_no_feed_could_show_is_refused(
    engine: Engine, ledger: Ledger, constraint: str, column: str, value: str
) -> None:
    """One such event, once it was sealed, ended the export, the feed or the sealing of everybody, for ever."""
    columns = ["shard", "tenant", "commit_key", "seq", "type", "at", "payload", "salt", "payload_digest"]
    changed = ", ".join({"seq": "seq + 1", column: value}.get(name, name) for name in columns)
    copied = f"select {changed} from ledger.events where tenant = 't' and commit_key = 'a' order by seq desc limit 1"
    insert = f"insert into ledger.events ({', '.join(columns)}) {copied}"
    with pytest.raises(IntegrityError, match=constraint), engine.begin() as connection:
        connection.exec_driver_sql(insert)


@pytest.mark.parametrize("value", ["1e400", "NaN", "-Infinity", '"\\ud800"'])
def test_what_no_json_can_say_is_shown_as_unreadable(engine: Engine, ledger: Ledger, value: str) -> None:
    """The feed answered 500 for every page that held it, so that no reader came by."""
    name = StreamName.of("t", "odd")
    barewriter.write(engine, name, 1, "stream.opened", barewriter.OPENED)
    barewriter.write(engine, name, 2, "stream.finished", f'{{"reason":"stop","x":{value}}}')
    barewriter.count(engine, name, 2)
    while Sealer(engine, lease_seconds=0).round().events:
        pass
    [odd] = [
        e.event for e in LogReader(engine).events(wanted=Wanted(tenant="t")).events if e.event.unreadable
    ]
    assert (odd.seq, odd.payload) == (2, {})


@pytest.mark.parametrize("member", ["from", "ordinal"])
def test_a_rebuild_passes_over_what_no_row_may_hold(engine: Engine, ledger: Ledger, member: str) -> None:
    history = next(h for h in spoilt.histories(ledger, "elsewhere") if any("ordinal" in e.payload for e in h))
    event = next(event for event in history if member in event.payload)
    changed = {**event.payload, member: {"from": "elsewhere", "ordinal": 2**40}[member]}
    spoilt.plant(engine, StreamName.of("t", "odd"), (history, event, changed))
    passed: list[rebuilding.Difference] = []
    rebuilding.rebuild(engine, passed_over=passed.append)
    assert [one.commit_key for one in passed] == ["odd"]


def test_views_of_auditors_answer_for_the_whole_tenant(spoiled: Ledger, database: TestDatabase) -> None:
    """One payload that is not JSON failed every query about any stream of its tenant."""
    turn = LiveTurn(spoiled, "t", "good")
    turn.say("text")
    with auditor_of(database, "t") as auditor:
        for view in VIEWS:
            auditor.ask(f"select * from audit.{view}")
        told = auditor.ask("select commit_key, line from audit.timeline order by commit_key, seq")
        found = auditor.ask("select commit_key, finding from audit.dispatched_vs_accepted")
    lines = [row["line"] for row in told if row["commit_key"] == "without_json"]
    assert lines[1] == "tokens.accepted (stream_unreadable)"
    assert {row["commit_key"] for row in told} == {"a", "z", "good", *BAD}
    unreadable = {row["commit_key"] for row in found if row["finding"] == "unreadable_stream"}
    assert unreadable == {key for key, said in SAID.items() if said}
