"""Whatever is planted in a history, dispatched_vs_accepted finds what reconciliation finds, and no view fails on it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from sqlalchemy import text, update

from effects.intent import BlockState, IntentState
from ledger.events import Event, EventType
from ledger.reconcile.finding import FindingKind
from ledger.schema import dispatches, of_stream
from ledger.sharding import StreamName, shard_of_tenant
from ledger.state import Intent
from tests.gateway.turn.desk import spell
from tests.ledger.audit import expected
from tests.ledger.audit.asking import VIEWS, Auditor
from tests.ledger.audit.compare import check_dispatches, check_findings, check_story
from tests.ledger.audit.wandering import Wandering
from tests.ledger.liveturn import LiveTurn
from tests.ledger.planting import Planter

NEEDS_MORE = {FindingKind.UNKNOWN_TO_US, FindingKind.MISSING_AT_TOOL}
"""What only a tool's log shows."""

BREAKING = ["plant_a_redaction", "plant_a_wrong_ruling", "plant_a_gap"]
"""What may leave a stream unreadable: then nothing is said of acceptance any more."""

HOUR = timedelta(hours=1)
MORE = [pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 30)]


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return Counter()


class Faults:
    """Plants one fault after the other in one stream."""

    def __init__(self, planter: Planter, turn: Wandering, random: Random) -> None:
        self._planter = planter
        self._turn = turn
        self._random = random
        self._name = StreamName.of(turn.tenant, turn.key)
        self._intents = list(turn.state.intents.values())
        self._events = turn.events
        self._next = turn.state.seq + 1
        every = [name for name in dir(self) if name.startswith("plant_")]
        self._kinds = [name for name in every if name not in BREAKING]
        random.shuffle(self._kinds)
        self._kinds += BREAKING

    def plant(self) -> Iterator[str]:
        """Plant one of each kind, and give its name once it is there."""
        for kind in self._kinds:
            getattr(self, kind)(self._random.choice(self._intents))
            yield kind

    def _event(
        self, type_: EventType, body: Mapping[str, object], intent: Intent | None, attempt: int | None
    ) -> None:
        about: dict[str, object] = {"branch": "main" if intent is None else intent.branch, "attempt": attempt}
        if intent is not None:
            body, about["intent_id"] = {"intent_id": intent.intent_id, **body}, intent.intent_id
        self._planter.event(self._name, self._next, type_, body, **about)
        self._next += 1

    def _change(self, event: Event, **members: object) -> None:
        self._planter.change_payload(self._name, event.seq, {**event.payload, **members})

    def _told(self, intent: Intent, type_: EventType) -> list[Event]:
        return [e for e in self._events if e.intent_id == intent.intent_id and e.type is type_ and e.payload]

    def _change_row(self, intent: Intent, **columns: object) -> None:
        where = of_stream(dispatches, self._name), dispatches.c.intent_id == intent.intent_id
        self._planter._run(update(dispatches).where(*where).values(**columns))

    def plant_a_dispatch(self, intent: Intent) -> None:
        attempt = intent.attempts + 20 + self._next
        effect = self._random.choice(["WRITE", "IDEMPOTENT", "READ_ONLY"])
        self._planter.sent(self._name, intent, self._next, attempt=attempt, effect=effect)
        self._next += 1
        if self._random.random() < 0.5:
            self._planter.settled(self._name, intent, self._next, attempt=attempt)
            self._next += 1

    def plant_a_licence_alone(self, intent: Intent) -> None:
        late = datetime.now(UTC) - HOUR
        row = {
            "attempt": 10_000 + self._next,
            "started_seq": max(1, self._next - 1),
            "lease_until": late,
            "open": True,
        }
        self._planter.dispatch_row(self._name, intent.intent_id, branch=intent.branch, **row)
        self._next += 0

    def plant_an_unheld_intent(self, intent: Intent) -> None:
        self._planter.dispatch_row(self._name, f"int_{self._random.random()}", branch=intent.branch)

    def plant_a_final(self, intent: Intent) -> None:
        attempt = self._random.choice([None, 1, max(1, intent.attempts)])
        reads = [i for i in self._intents if i.tool == "read" and i.attempts and not i.final]
        intent = self._random.choice(reads) if reads else intent
        if not self._told(intent, EventType.INTENT_FINAL):
            body = {} if attempt is None else {"attempt": attempt}
            self._event(EventType.INTENT_FINAL, body, intent, attempt)

    def plant_a_voiding(self, intent: Intent) -> None:
        self._event(EventType.INTENT_VOIDED, {"reason": "planted"}, intent, None)

    def plant_a_late_answer(self, intent: Intent) -> None:
        resolved = [i for i in self._intents if i.resolved]
        intent = self._random.choice(resolved) if resolved else intent
        attempt = max(1, intent.attempts)
        if intent.state is not IntentState.DISPATCHED:
            self._event(
                EventType.DISPATCH_LATE, {"attempt": attempt, "status": "ok", "content": 1}, intent, attempt
            )

    def plant_other_arguments(self, intent: Intent) -> None:
        cleared = [i for i in self._intents if i.block is BlockState.CLEARED and i.arguments_raw is not None]
        intent = self._random.choice(cleared) if cleared else intent
        for event in self._told(intent, EventType.INTENT_HELD)[:1]:
            self._change(event, arguments_raw=self._random.choice(['{"name": "zz"}', '{"name": "yy"}', None]))

    def plant_other_sending(self, intent: Intent) -> None:
        for event in self._told(intent, EventType.DISPATCH_STARTED)[:1]:
            self._change(
                event, **self._random.choice([{"arguments_raw": "{}"}, {"effect": "WRITE"}, {"effect": "x"}])
            )

    def plant_another_place(self, intent: Intent) -> None:
        for event in self._told(intent, EventType.INTENT_HELD)[:1]:
            self._change(event, closed_seq=self._random.randint(1, self._next), byte_start=0)

    def plant_another_footprint(self, intent: Intent) -> None:
        keys = self._random.choice([["thing:*"], ["thing:a"], ["thing:\\*", "x"], None, []])
        footprint = {
            "reads": keys,
            "writes": self._random.choice([[], None]),
            "upstream": self._random.choice(["u", None]),
        }
        for event in self._told(intent, EventType.INTENT_HELD)[:1]:
            self._change(event, footprint=self._random.choice([footprint, {"reads": 1}, footprint]))

    def plant_another_licence(self, intent: Intent) -> None:
        columns = [
            {"effect": "WRITE", "once_key": intent.intent_id + "x"},
            {"branch": "other"},
            {"unsent": True},
        ]
        if intent.attempts == 1:
            self._change_row(
                intent, **self._random.choice([*columns, {"lease_until": datetime.now(UTC) - HOUR}])
            )

    def forget(self, intent: Intent, table: str, where: str) -> None:
        self._planter.forget(table, self._name, f"intent_id = '{intent.intent_id}' and {where}")

    def plant_no_licence(self, intent: Intent) -> None:
        self.forget(intent, "dispatches", "true")

    def plant_a_gap(self, intent: Intent) -> None:
        self.forget(
            intent, "events", self._random.choice(["type = 'dispatch.started'", "type = 'intent.held'"])
        )

    def plant_a_wrong_ruling(self, _intent: Intent) -> None:
        body = {
            "round": 0,
            "start": self._random.randint(0, 3),
            "end": 3,
            "accepted": self._random.randint(0, 4),
        }
        self._planter.event(self._name, self._next, EventType.TOKENS_RULED, body, branch="main", head_after=9)
        self._next += 1

    def plant_a_redaction(self, _intent: Intent) -> None:
        self._planter.redact(self._name, self._random.choice(self._events).seq)


@pytest.mark.parametrize("seed", [*range(3), *MORE])
def test_planted_faults_are_found_alike(auditor: Auditor, engine, ledger, planter, tenant, counts, seed):
    random = Random(1000 + seed)
    turn = Wandering(ledger, tenant, f"planted-{seed}", random, age=timedelta(hours=48))
    turn.wander(80)
    for planted in Faults(planter, turn, random).plant():
        try:
            rows = check_findings(auditor, engine, tenant, turn.key)
            check_dispatches(auditor, engine, tenant, turn.key)
            check_story(auditor, turn)
        except Exception as error:
            raise AssertionError(f"after {planted}: {error}") from error
        counts.update(str(row["finding"]) for row in rows)
    for view in VIEWS:
        auditor.rows(view, turn.key)


def test_an_answer_after_the_resolution_is_late_evidence(auditor, engine, ledger, tenant, counts):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.claim("create")
    turn.lose("create")
    assert [row["finding"] for row in check_findings(auditor, engine, tenant, turn.key)] == ["in_doubt"]
    turn.resolve("create", happened=False)
    turn.settle("create")
    rows = check_findings(auditor, engine, tenant, turn.key)
    assert [(row["finding"], row["finding_seq"]) for row in rows] == [("late_evidence", turn.events[-1].seq)]
    counts.update(["in_doubt", "late_evidence"])


def test_every_finding_was_found(counts, report):
    """The control: a kind that nothing planted brings about is not compared."""
    report(f"audit findings: {sum(counts.values())} rows compared, {dict(counts)}")
    assert {kind for kind in FindingKind if not counts[kind.value]} == NEEDS_MORE


def test_a_clean_stream_has_no_finding(auditor, engine, ledger, tenant):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("read", name="a") + spell("create", name="a"))
    turn.call("read")
    turn.call("create")
    turn.finish()
    rows = check_findings(auditor, engine, tenant, turn.key)
    assert {(row["tool"], row["dispatched"], row["accepted"], row["finding"]) for row in rows} == {
        ("read", True, True, None),
        ("create", True, True, None),
    }


def test_what_an_operator_paused_waits_and_is_not_lost(auditor, ledger, tenant, planter):
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("create", name="a"))
    turn.finish()
    assert [row["finding"] for row in auditor.rows("dispatched_vs_accepted", turn.key)] == ["lost_effect"]
    insert = "insert into ledger.pauses values (:shard, :tenant, 'create', 'o', 'maintenance', now())"
    with planter.engine.begin() as connection:
        connection.execute(text(insert), {"shard": shard_of_tenant(tenant), "tenant": tenant})
    assert [row["finding"] for row in auditor.rows("dispatched_vs_accepted", turn.key)] == [None]


def test_acceptance_is_worked_out_from_tokens_and_not_from_the_columns(
    auditor, engine, ledger, tenant, planter
):
    turn = LiveTurn(ledger, tenant)
    end = turn.draft(spell("create", name="a"))
    name, seq, intent = StreamName.of(tenant, turn.key), turn.state.seq, turn.intent("create")
    body = {"round": 0, "start": 0, "end": 4, "accepted": 4}
    planter.event(name, seq + 1, EventType.TOKENS_RULED, body, branch="main", head_after=end)
    cleared = {"span": [0, end], "round": 0, "intents": [intent.intent_id]}
    planter.event(name, seq + 2, EventType.BLOCK_CLEARED, cleared, branch="main")
    planter.sent(name, intent, seq + 3, effect="WRITE")
    rows = check_findings(auditor, engine, tenant, turn.key)
    assert [row["finding"] for row in rows] == ["orphan_effect"]
    assert expected.readable(turn.events)
