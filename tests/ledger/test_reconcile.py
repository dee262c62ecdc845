"""Reconciliation on the real ledger: a clean one has no findings, and each planted fault gives exactly its own."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from ledger.errors import BadCursor
from ledger.events import Event, EventType, NewEvent
from ledger.reconcile.examine import DispatchRow, Evidence, examine
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.run import Options, Reconciliation, run
from ledger.sharding import StreamName, shard_of_tenant
from tests.gateway.turn.desk import spell, table
from tests.ledger.liveturn import LiveTurn, find_blocks
from tests.ledger.story import these

K = FindingKind


@pytest.fixture
def reconcile(engine, tenant):
    def reconcile(**options) -> tuple[list[Finding], Reconciliation]:
        more = {k: options.pop(k) for k in ("tool_log", "progress") if k in options}
        blocks = options.pop("find_blocks", find_blocks)
        now = options.pop("now", datetime.now(UTC))
        found = run(engine, tenant, Options(**options), now=now, find_blocks=blocks, **more)
        return list(found.findings), found

    return reconcile


def name_of(turn: LiveTurn) -> StreamName:
    return StreamName.of(turn.tenant, turn.key)


def kinds(findings: list[Finding]) -> list[FindingKind]:
    return [finding.kind for finding in findings]


def busy_turn(ledger, tenant: str, key: str = "busy") -> LiveTurn:
    """One of everything that is as it should be: early reads used, wasted and stale, writes, voided blocks, refusals."""
    turn = LiveTurn(ledger, tenant, key)
    turn.draft(spell("read", name="used"))
    turn.call("read")
    turn.rule_all()
    wrong = turn.draft(spell("read", name="wasted") + spell("create", name="wrong"))
    turn.call("read")
    turn.rule(wrong, 3, own="x")
    turn.draft(spell("delete", name="a") + spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    turn.call("delete")
    turn.call("read")
    turn.say(spell("put", name="b"))
    turn.claim("put")
    turn.lose("put")
    turn.call("put")
    turn.say(spell("create", name="c"))
    turn.claim("create")
    turn.lose("create")
    turn.resolve("create", happened=True)
    turn.say(spell("nobody", name="knows"))
    turn.say("Done.")
    turn.finish()
    return turn


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


# --- sent without acceptance ---------------------------------------------------------------------------------------


def test_a_write_sent_on_drafts_is_an_orphan(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("create", name="a"))
    planter.sent(name_of(turn), turn.intent("create"), turn.state.seq + 1, effect="WRITE")
    findings, _ = reconcile()
    assert kinds(findings) == [K.ORPHAN_EFFECT]
    assert findings[0].intent_id == turn.intent("create").intent_id
    assert (findings[0].tool, findings[0].severity) == ("create", "violation")


def test_a_read_sent_on_drafts_is_none(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("read", name="a"))
    turn.call("read")
    assert reconcile()[0] == []


def test_a_write_of_a_rejected_block_is_an_orphan_although_its_place_is_accepted_since(
    ledger, tenant, reconcile, planter
):
    turn = LiveTurn(ledger, tenant)
    end = turn.draft(spell("create", name="bad"))
    turn.rule(end, end - 3)
    turn.say(spell("create", name="gut")[(end - 3) * 4 :])
    rejected = turn.intent("create", 0)
    assert (rejected.start, rejected.end) == (turn.intent("create").start, turn.intent("create").end)
    turn.call("create")
    assert reconcile()[0] == []
    planter.sent(name_of(turn), rejected, turn.state.seq + 1, effect="WRITE")
    findings, _ = reconcile()
    assert [(f.kind, f.intent_id) for f in findings] == [(K.ORPHAN_EFFECT, rejected.intent_id)]


def test_a_ruling_that_comes_after_the_dispatch_does_not_make_it_right(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    end = turn.draft(spell("create", name="a"))
    name, seq, intent = name_of(turn), turn.state.seq, turn.intent("create")
    planter.sent(name, intent, seq + 1, effect="WRITE")
    body = {"round": 0, "start": 0, "end": end, "accepted": end}
    planter.event(name, seq + 2, EventType.TOKENS_RULED, body, branch="main", head_after=end)
    assert kinds(reconcile()[0]) == [K.ORPHAN_EFFECT]


def test_acceptance_is_worked_out_from_tokens_and_not_from_the_columns(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    end = turn.draft(spell("create", name="a"))
    name, seq, intent = name_of(turn), turn.state.seq, turn.intent("create")
    body = {"round": 0, "start": 0, "end": 4, "accepted": 4}
    planter.event(name, seq + 1, EventType.TOKENS_RULED, body, branch="main", head_after=end)
    cleared = {"span": [0, end], "round": 0, "intents": [intent.intent_id]}
    planter.event(name, seq + 2, EventType.BLOCK_CLEARED, cleared, branch="main")
    planter.sent(name, intent, seq + 3, effect="WRITE")
    assert kinds(reconcile()[0]) == [K.ORPHAN_EFFECT]


def test_a_write_recorded_as_a_read_in_its_dispatch_alone_is_an_orphan(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("create", name="a"))
    planter.sent(name_of(turn), turn.intent("create"), turn.state.seq + 1, effect="READ_ONLY")
    assert kinds(reconcile()[0]) == [K.ORPHAN_EFFECT]


# --- accepted and never sent ---------------------------------------------------------------------------------------


def test_an_accepted_call_that_nobody_sent_is_lost(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish()
    findings, _ = reconcile()
    assert [(f.kind, f.intent_id) for f in findings] == [(K.LOST_EFFECT, turn.intent("create").intent_id)]


@pytest.mark.parametrize("finished", [True, False])
def test_a_young_stream_has_lost_nothing_yet(ledger, tenant, reconcile, finished):
    turn = LiveTurn(ledger, tenant, age=timedelta(minutes=5))
    turn.say(spell("create", name="a"))
    if finished:
        turn.finish()
    assert reconcile()[0] == []
    assert kinds(reconcile(grace=timedelta(minutes=4))[0]) == [K.LOST_EFFECT]


def test_what_waits_behind_a_doubt_is_not_lost(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a") + spell("delete", name="b") + spell("read", name="a"))
    turn.finish()
    turn.claim("create")
    turn.lose("create")
    assert kinds(reconcile()[0]) == [K.IN_DOUBT]


def test_what_an_operator_paused_waits_and_is_not_lost(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish()
    insert = "insert into ledger.pauses values (:shard, :tenant, '*', 'o', 'maintenance', now())"
    with planter.engine.begin() as connection:
        connection.execute(text(insert), {"shard": shard_of_tenant(tenant), "tenant": tenant})
    findings, found = reconcile()
    assert (findings, found.summary.paused) == ([], 1)


def test_an_accepted_block_that_was_never_held_is_lost(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say("So: ")
    block = spell("create", name="a")
    name, seq, head = name_of(turn), turn.state.seq, turn.state.branches["main"].head
    body = {"round": 0, "tokens": [{"text": block}]}
    planter.event(name, seq + 1, EventType.TOKENS_ACCEPTED, body, branch="main", head_after=head + 1)
    planter.event(name, seq + 2, EventType.STREAM_FINISHED, {"reason": "stop"})
    findings, _ = reconcile()
    assert [(f.kind, f.intent_id, f.tool, f.seq) for f in findings] == [
        (K.LOST_EFFECT, None, "create", seq + 1)
    ]
    assert reconcile(find_blocks=None)[0] == []


def test_a_call_voided_although_its_tokens_are_accepted_is_lost(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish()
    intent = turn.intent("create")
    body = {"intent_id": intent.intent_id, "reason": "token_rejected"}
    about = {"branch": "main", "intent_id": intent.intent_id}
    planter.event(name_of(turn), turn.state.seq + 1, EventType.INTENT_VOIDED, body, **about)
    assert kinds(reconcile()[0]) == [K.LOST_EFFECT]


# --- once, doubt, late ---------------------------------------------------------------------------------------------


def test_a_write_sent_twice_is_a_duplicate(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    intent = turn.call("create")
    turn.finish()
    name, seq = name_of(turn), turn.state.seq
    planter.sent(name, intent, seq + 1, attempt=2, effect="WRITE")
    planter.settled(name, intent, seq + 2, attempt=2)
    assert kinds(reconcile()[0]) == [K.DUPLICATE]


def test_an_idempotent_call_sent_twice_is_none(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("put", name="a"))
    turn.claim("put")
    turn.lose("put")
    turn.call("put")
    turn.finish()
    assert turn.intent("put").attempts == 2
    assert reconcile()[0] == []


def test_a_first_attempt_that_was_certainly_unsent_does_not_count(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.settle("create", unsent=True)
    turn.finish()
    name, seq, intent = name_of(turn), turn.state.seq, turn.intent("create")
    planter.sent(name, intent, seq + 1, attempt=2, effect="WRITE")
    planter.settled(name, intent, seq + 2, attempt=2)
    assert reconcile()[0] == []


def test_an_open_doubt_is_a_finding_until_it_is_resolved(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.lose("create")
    findings, _ = reconcile()
    assert [(f.kind, f.severity) for f in findings] == [(K.IN_DOUBT, "attention")]
    turn.resolve("create", happened=False)
    assert reconcile()[0] == []


def test_a_dispatch_that_outlived_its_lease_unnoticed_is_in_doubt(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create", lease=1.0)
    assert reconcile()[0] == []
    assert kinds(reconcile(now=datetime.now(UTC) + timedelta(hours=1))[0]) == [K.IN_DOUBT]


def test_an_outcome_after_the_resolution_is_late_evidence(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.lose("create")
    turn.resolve("create", happened=False)
    turn.settle("create")
    assert turn.events[-1].type == EventType.DISPATCH_LATE
    assert kinds(reconcile()[0]) == [K.LATE_EVIDENCE]


def test_an_outcome_that_settles_the_doubt_itself_is_none(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.lose("create")
    turn.settle("create")
    assert reconcile()[0] == []


def test_a_late_outcome_before_the_resolution_is_none(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant, age=timedelta(hours=5))
    turn.say(spell("put", name="a"))
    turn.claim("put")
    turn.lose("put")
    turn.claim("put")
    turn.settle("put", attempt=1)
    assert turn.events[-1].type == EventType.DISPATCH_LATE
    turn.now += timedelta(hours=2)  # beyond the window of the tool
    turn.lose("put")
    assert turn.intent("put").state == "in_doubt"
    turn.resolve("put", happened=True)
    assert reconcile()[0] == []


# --- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("detector", [find_blocks, None])
def test_arguments_that_the_tokens_do_not_spell_are_a_mismatch(ledger, tenant, reconcile, planter, detector):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.call("create")
    turn.finish()
    assert reconcile(find_blocks=detector)[0] == []
    held = next(e for e in turn.events if e.type is EventType.INTENT_HELD)
    planter.change_payload(name_of(turn), held.seq, {**held.payload, "arguments_raw": '{"name": "b"}'})
    assert kinds(reconcile(find_blocks=detector)[0]) == [K.ARGUMENT_MISMATCH]


def test_another_tool_than_the_tokens_spell_is_a_mismatch(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.call("create")
    held = next(e for e in turn.events if e.type is EventType.INTENT_HELD)
    planter.change_payload(name_of(turn), held.seq, {**held.payload, "tool": "delete"})
    assert kinds(reconcile()[0]) == [K.ARGUMENT_MISMATCH]


# --- freshness -----------------------------------------------------------------------------------------------------


def test_a_read_made_final_with_an_answer_from_before_a_write_is_stale(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("delete", name="a") + spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    turn.call("delete")
    turn.finish()
    read, seq = turn.intent("read"), turn.state.seq
    assert (read.stale, read.final) == (False, False)  # released to be sent again
    body = {"intent_id": read.intent_id, "attempt": 1, "because_seq": read.settled_seq}
    about = {"branch": "main", "intent_id": read.intent_id, "attempt": 1}
    planter.event(name_of(turn), seq + 1, EventType.INTENT_FINAL, body, **about)
    assert kinds(reconcile()[0]) == [K.STALE_READ_FINAL]


def test_a_read_made_final_while_a_write_before_it_was_not_over_is_stale(ledger, tenant, reconcile, planter):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("delete", name="a") + spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    read, seq, name = turn.intent("read"), turn.state.seq, name_of(turn)
    body = {"intent_id": read.intent_id, "attempt": 1, "because_seq": read.settled_seq}
    about = {"branch": "main", "intent_id": read.intent_id, "attempt": 1}
    planter.event(name, seq + 1, EventType.INTENT_FINAL, body, **about)
    planter.sent(name, turn.intent("delete"), seq + 2, effect="WRITE")
    planter.settled(name, turn.intent("delete"), seq + 3)
    assert kinds(reconcile()[0]) == [K.STALE_READ_FINAL]


def test_a_write_after_the_read_does_not_unmake_its_answer(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("read", name="a"))
    turn.call("read")
    turn.say(spell("delete", name="a"))
    turn.call("delete")
    turn.finish()
    assert reconcile()[0] == []


def test_a_write_of_another_key_overtakes_nothing(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("delete", name="b") + spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    turn.call("delete")
    turn.finish()
    assert turn.intent("read").final
    assert reconcile()[0] == []


def two_branches(*, write_final: bool, read_final_at: int) -> list[FindingKind]:
    """A read of branch ``one`` sent at 8 and answered at 9, a write of ``two`` sent at 10 and settled at 11."""
    open_ = {
        "writer_epoch": 1,
        "format": "none",
        "from": "posted",
        "branches": ["one", "two"],
        "binding": {"kind": "single"},
    }
    told = [(EventType.STREAM_OPENED, open_, None)]
    for branch, effect in (("one", "READ_ONLY"), ("two", "WRITE")):
        call = {"intent_id": branch, "span": [0, 1], "ordinal": 0, "round": 0, "closed_seq": len(told) + 1}
        call |= {"byte_start": 0, "byte_end": 2, "tool": branch, "arguments_raw": "{}", "effect": effect}
        call |= {"footprint": {"reads": [], "writes": ["k"], "upstream": "u"}}
        told.append((EventType.TOKENS_ACCEPTED, {"round": 0, "tokens": [{"text": "{}"}]}, branch))
        told.append((EventType.INTENT_HELD, call, branch))
        told.append((EventType.INTENT_RELEASED, {"release": "committed", "effect": effect}, branch))
    for branch, effect in (("one", "READ_ONLY"), ("two", "WRITE")):
        told.append((EventType.DISPATCH_STARTED, {"effect": effect}, branch))
        told.append((EventType.DISPATCH_SETTLED, {"status": "ok"}, branch))
    if write_final:
        told.append((EventType.INTENT_FINAL, {}, "two"))
    told.insert(read_final_at - 1, (EventType.INTENT_FINAL, {}, "one"))
    at = datetime.now(UTC)
    events = [
        Event(
            seq,
            at,
            type_,
            body,
            branch,
            None if type_.startswith(("stream", "tokens")) else branch,
            1 if type_.startswith(("dispatch", "intent.final")) else None,
        )
        for seq, (type_, body, branch) in enumerate(told, 1)
    ]
    begun = {e.branch: e.seq for e in events if e.type is EventType.DISPATCH_STARTED}
    rows = [
        DispatchRow(branch, 1, branch, effect, at, begun[branch], open=False, unsent=False)
        for branch, effect in (("one", "READ_ONLY"), ("two", "WRITE"))
    ]
    return kinds(list(examine(Evidence("t", "k", events, rows), now=at).findings))


@pytest.mark.parametrize("write_final", [True, False])
def test_only_what_another_branch_had_done_by_then_counts(write_final):
    assert two_branches(write_final=write_final, read_final_at=10) == []
    assert two_branches(write_final=write_final, read_final_at=11) == [K.STALE_READ_FINAL]
    assert two_branches(write_final=write_final, read_final_at=12) == [K.STALE_READ_FINAL]


# --- the union -----------------------------------------------------------------------------------------------------


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


# --- running -------------------------------------------------------------------------------------------------------


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


def test_strict_reads_hold_policy_too(ledger, tenant, reconcile):
    turn = LiveTurn(ledger, tenant, force=table(reads="hold"))
    turn.draft(spell("delete", name="a") + spell("read", name="a"))
    turn.rule_all()
    turn.call("delete")
    turn.call("read")
    turn.finish()
    assert reconcile()[0] == []
