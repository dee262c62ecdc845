"""A run over the real ledger: a clean one has no findings, both sides of every dispatch are asked, no stream is passed over."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from ledger.errors import BadCursor
from ledger.events import EventType, NewEvent
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.run import Options, run
from ledger.sharding import StreamName
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn, find_blocks
from tests.ledger.reconcile.turns import busy_turn, kinds, name_of
from tests.ledger.story import these

K = FindingKind


def test_a_clean_ledger_has_no_findings(ledger, tenant, reconcile):
    busy_turn(ledger, tenant)
    findings, found = reconcile()
    assert findings == []
    assert found.summary.to_json() == {
        "streams": 1,
        "unfinished": 0,
        "dispatches": 8,
        "early_reads": {"used": 1, "wasted": 1, "stale": 1, "adopted": 0},
        "writes": 2,
        "idempotent_calls": 1,
        "blocks": {"cleared": 7, "voided": 2},
        "paused": 0,
        "log_entries": 0,
        "findings": {},
    }


@pytest.mark.parametrize("reason", ["error", "cancelled"])
def test_an_aborted_stream_loses_nothing(ledger, tenant, reconcile, reason):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish(reason)
    assert turn.intent("create").state == "voided"
    assert reconcile()[0] == []


def test_nothing_is_written(ledger, tenant, reconcile, planter):
    busy_turn(ledger, tenant)
    count = "select count(*), sum(seq) from ledger.events union all select count(*), 0 from ledger.dispatches"

    def counts():
        with planter.engine.connect() as connection:
            return connection.execute(text(count)).all()

    before = counts()
    reconcile()
    assert counts() == before


@pytest.mark.parametrize(
    ("table_name", "where"),
    [("dispatches", "true"), ("events", "type = 'dispatch.started'")],
)
def test_a_dispatch_told_on_one_side_only_diverges(ledger, tenant, reconcile, planter, table_name, where):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.call("create")
    turn.finish()
    planter.forget(table_name, name_of(turn), where)
    expected = {K.KEY_DIVERGENCE}
    if table_name == "events":
        expected.add(K.UNREADABLE_STREAM)  # a missing event leaves a gap
    assert set(kinds(reconcile()[0])) == expected


def test_a_dispatch_row_alone_diverges(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.settle("create", unsent=True)
    turn.finish()
    planter.dispatch_row(
        name_of(turn), turn.intent("create").intent_id, attempt=2, started_seq=turn.state.seq
    )
    assert kinds(reconcile()[0]) == [K.KEY_DIVERGENCE]


def test_a_dispatch_row_of_a_stream_without_events_is_seen(tenant, reconcile, planter):
    planter.dispatch_row(StreamName.of(tenant, "nowhere"), "int_x")
    findings, _ = reconcile()
    assert set(kinds(findings)) == {K.ORPHAN_EFFECT, K.KEY_DIVERGENCE}


def test_projections_are_not_asked(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish()
    for table_name in ("streams", "intents"):
        planter.forget(table_name, name_of(turn))
    assert kinds(reconcile()[0]) == [K.LOST_EFFECT]


@pytest.mark.parametrize("kind", ["redacted", "missing"])
def test_what_cannot_be_read_is_said_and_the_rest_goes_on(ledger, tenant, reconcile, planter, kind):
    broken = LiveTurn(ledger, tenant, "broken")
    broken.say(spell("create", name="a"))
    seq = next(e.seq for e in broken.events if e.type is EventType.TOKENS_DRAFTED)
    if kind == "redacted":
        planter.redact(name_of(broken), seq)
    else:
        planter.forget("events", name_of(broken), f"seq = {seq}")
    lost = LiveTurn(ledger, tenant, "lost")
    lost.say(spell("create", name="a"))
    lost.finish()
    findings, found = reconcile()
    assert {(f.commit_key, f.kind) for f in findings} == {
        ("broken", K.UNREADABLE_STREAM),
        ("lost", K.LOST_EFFECT),
    }
    assert found.summary.streams == 2


def many_turns(ledger, tenant: str, count: int) -> list[str]:
    keys = [f"k{place}" for place in range(count)]
    for place, key in enumerate(keys):
        turn = LiveTurn(ledger, tenant, key, age=timedelta(hours=count - place))
        turn.say(spell("create", name="a"))
        turn.finish()
    return keys


@pytest.mark.parametrize("page", [1, 3, 200])
def test_every_stream_is_seen_once_whatever_the_page(ledger, tenant, reconcile, page):
    keys = many_turns(ledger, tenant, 7)
    seen = []
    findings, found = reconcile(page=page, progress=lambda p: seen.append(p.cursor))
    assert sorted(f.commit_key for f in findings) == keys
    assert (found.summary.streams, len(set(seen)), found.cursor) == (7, 7, seen[-1])


def test_a_run_goes_on_behind_its_cursor(ledger, tenant, engine, reconcile):
    keys = many_turns(ledger, tenant, 5)
    first = run(engine, tenant, Options(page=2), now=datetime.now(UTC))
    begun = [next(first.findings).commit_key for _ in range(3)]
    first.findings.close()
    rest, _ = reconcile(after=first.cursor)
    # What was given out last was not finished yet, so it comes again: no stream is passed over.
    assert set(begun[:2]) | {f.commit_key for f in rest} == set(keys)
    assert set(begun[:2]) & {f.commit_key for f in rest} == set()
    with pytest.raises(BadCursor):
        reconcile(after="not a cursor")


def test_the_same_ledger_gives_the_same_findings(ledger, tenant, reconcile):
    many_turns(ledger, tenant, 3)
    now = datetime.now(UTC)
    assert reconcile(now=now)[0] == reconcile(now=now)[0]


def test_scopes(ledger, tenant, engine, reconcile):
    keys = many_turns(ledger, tenant, 4)  # 4, 3, 2 and 1 hours old
    now = datetime.now(UTC)
    assert [f.commit_key for f in reconcile(commit_key="k2")[0]] == ["k2"]
    assert reconcile(commit_key="other")[0] == []
    since, until = now - timedelta(hours=3.5), now - timedelta(hours=1.5)
    assert sorted(f.commit_key for f in reconcile(since=since, until=until)[0]) == ["k1", "k2"]
    assert list(run(engine, "another-tenant", Options(), now=now).findings) == []
    everybody = run(engine, None, Options(), now=now, find_blocks=find_blocks)
    mine = [f.commit_key for f in everybody.findings if f.tenant == tenant]
    assert sorted(mine) == keys


def test_the_reserved_stream_is_no_turn(ledger, tenant, reconcile):
    ledger.append(tenant, "_effects", these(NewEvent(EventType.EFFECTS_CHANGED, {"version": 1})))
    assert reconcile()[1].summary.streams == 0


def test_a_finding_is_json():
    finding = Finding(K.IN_DOUBT, "t", "k", "i", 3, "why", tool="create")
    assert finding.to_json() == {
        "kind": "in_doubt",
        "severity": "attention",
        "tenant": "t",
        "commit_key": "k",
        "intent_id": "i",
        "seq": 3,
        "tool": "create",
        "log_line": None,
        "detail": "why",
    }
