"""A writer's login that INSERTs a member of another kind than its event has spoils that stream; every view answers about it."""

import json
from collections.abc import Iterator
from random import Random

import pytest
from sqlalchemy import Engine

from ledger.append import Ledger
from ledger.events import Event, EventType
from ledger.sharding import StreamName
from tests.ledger import barewriter, spoilt
from tests.ledger.audit.asking import VIEWS, Auditor, auditor_of
from tests.postgres import TestDatabase

BEYOND: tuple[tuple[str, str, str], ...] = (
    ("effects.changed", "table", '{"tools":[1]}'),
    ("effects.changed", "table", '{"tools":"x"}'),
    ("effects.changed", "version", '"x"'),
    ("dispatch.settled", "tries", "99999999999"),
    ("payload.redacted", "seqs", "3"),
    ("tokens.drafted", "tokens", '[{"text":"\\ud800"}]'),
    ("tokens.ruled", "accepted", "1e400000"),
    ("tokens.ruled", "draft_ms", '"x"'),
    ("stream.opened", "branches", '"main"'),
    ("tokens.ruled", "round", "0e0"),
    ("tokens.drafted", "start", "1e1"),
    ("intent.held", "span", "[0e0,1e0]"),
    ("intent.held", "ordinal", "1E0"),
    ("effects.changed", "version", "1e0"),
    ("dispatch.settled", "tries", "1e0"),
    ("intent.adopted", "attempt", "1e0"),
)
"""Members of rarer events, and JSON that is not canonical: type, name, what is written there."""

SAMPLE = 150
ALL = "select md5(coalesce(string_agg(v::text, ''), '')) as told from audit.{view} v"


@pytest.fixture
def histories(ledger: Ledger, tenant: str) -> list[list[Event]]:
    return spoilt.histories(ledger, f"{tenant}-whole")


def _answers(auditor: Auditor) -> dict[str, object]:
    return {view: auditor.ask(ALL.format(view=view))[0]["told"] for view in VIEWS}


@pytest.fixture
def judge(module_database: TestDatabase, engine: Engine, tenant: str) -> Iterator[Auditor]:
    with auditor_of(module_database, tenant) as auditor:
        auditor.ask_nothing("set statement_timeout = '120s'")
        yield auditor


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 12))])
def test_no_view_fails_on_a_member_of_another_kind(judge, engine, tenant, histories, seed, report):
    chosen = Random(seed).sample(spoilt.every(histories), SAMPLE)
    for number, one in enumerate(chosen):
        spoilt.plant(engine, StreamName.of(tenant, f"spoilt-{number}"), one)
    _answers(judge)
    shown = judge.ask("select count(*) as lines, count(distinct commit_key) as streams from audit.timeline")
    assert shown == [{"lines": sum(len(history) for history, _event, _payload in chosen), "streams": SAMPLE}]
    kinds = {event.type for _history, event, _payload in chosen}
    report(f"members of another kind in {len(chosen)} streams, {len(kinds)} types of events")


@pytest.mark.parametrize(("type_", "name", "value"), BEYOND)
def test_no_view_fails_on_what_is_not_even_canonical(judge, engine, tenant, type_, name, value):
    key = StreamName.of(tenant, "spoilt")
    barewriter.write(engine, key, 1, "stream.opened", barewriter.OPENED)
    barewriter.write(engine, key, 2, type_, f'{{"{name}":{value}}}', branch="main", intent_id="i", attempt=1)
    barewriter.write(engine, key, 3, "intent.final", "{}", branch="main", intent_id="i")
    _answers(judge)
    lines = {row["seq"]: row["line"] for row in judge.rows("timeline", "spoilt")}
    assert lines[2] == f"{type_} (stream_unreadable)"


def test_what_fits_into_no_memory_in_one_piece_is_told_as_nothing(planter) -> None:
    with planter.engine.connect() as connection:
        told = connection.exec_driver_sql(
            "select ledger.told_payload('{\"x\":[' || repeat('1,', 16777300) || '1]}')"
        ).scalar_one()
    assert told is None


@pytest.mark.parametrize("remains", ["3", "[1]", '"x"', '{"round":"x"}', '{"start":0,"round":0,"tokens":3}'])
def test_no_view_fails_on_remains_of_another_kind(judge, engine, planter, tenant, remains):
    key = StreamName.of(tenant, "spoilt")
    barewriter.write(engine, key, 1, "stream.opened", barewriter.OPENED)
    barewriter.write(engine, key, 2, "tokens.drafted", barewriter.ACCEPTED, branch="main")
    barewriter.write(engine, key, 3, "payload.redacted", f'{{"remains":{{"2":{remains}}},"seqs":[2]}}')
    planter.redact(key, 2)
    _answers(judge)
    assert {row["seq"] for row in judge.rows("timeline", "spoilt")} == {1, 2, 3}


@pytest.mark.parametrize("head", [2**63 - 1, -(2**63)])
def test_no_view_fails_on_a_head_that_nothing_reaches(judge, engine, planter, tenant, head):
    key = StreamName.of(tenant, "spoilt")
    barewriter.write(engine, key, 1, "stream.opened", barewriter.OPENED)
    for seq in (2, 3):
        barewriter.write(
            engine,
            key,
            seq,
            "tokens.accepted",
            barewriter.ACCEPTED,
            branch="main",
            head_after=head * (-1) ** seq - seq % 2,
        )
        planter.redact(key, seq)
    _answers(judge)
    assert {row["seq"] for row in judge.rows("timeline", "spoilt")} == {1, 2, 3}


def test_rulings_that_claim_more_than_was_drafted_are_followed_no_further(judge, engine, tenant):
    """Sixty of them made sixty million rows, and every query ran for minutes."""
    key = StreamName.of(tenant, "spoilt")
    barewriter.write(engine, key, 1, "stream.opened", barewriter.OPENED)
    drafted = '{"round":0,"start":0,"tokens":[{"text":"a"},{"text":"b"}]}'
    barewriter.write(engine, key, 2, "tokens.drafted", drafted, branch="main")
    for place in range(60):
        start = place * 30_000_000
        ruled = {"round": 0, "start": start, "end": start + 30_000_000, "accepted": 30_000_000}
        barewriter.write(engine, key, 3 + place, "tokens.ruled", json.dumps(ruled), branch="main")
    _answers(judge)
    assert len(judge.rows("tokens", "spoilt")) < 200


def test_what_is_spoilt_is_said_and_its_neighbour_is_as_it_was(judge, engine, tenant, histories):
    history = histories[0]
    drafted = next(event for event in history if event.type is EventType.TOKENS_DRAFTED)
    spoilt.plant(engine, StreamName.of(tenant, "whole"), (history, drafted, dict(drafted.payload)))
    before = {view: judge.rows(view, "whole") for view in VIEWS}
    spoilt.plant(engine, StreamName.of(tenant, "spoilt"), (history, drafted, {"round": "x", "tokens": []}))
    _answers(judge)
    assert {view: judge.rows(view, "whole") for view in VIEWS} == before
    assert "unreadable_stream" in {row["finding"] for row in judge.rows("dispatched_vs_accepted", "spoilt")}
