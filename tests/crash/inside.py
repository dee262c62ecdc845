"""Crashes around tools that are statements in the ledger's own database: their log is a table, written by their own commit."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from gateway.failpoints import FailPoint
from gateway.principal import everyone
from gateway.service.tables import EffectTables
from gateway.wiring import utc_now
from tests.crash import plan
from tests.crash.forked import Forked, Zygote
from tests.crash.plan import Case
from tests.crash.stage import TENANT, Stage
from tests.crash.trial import PATIENCE, Crash
from tests.failover.servers import DATABASE, Server
from tests.postgres import SERVICE, libpq

KIND = "postgres"
POINTS = (
    FailPoint.RELEASED_FOUND,
    FailPoint.CLAIM_DECIDED,
    FailPoint.CLAIM_COMMIT_SENT,
    FailPoint.CLAIM_COMMITTED,
    FailPoint.SENDING,
    FailPoint.ANSWER_RECEIVED,
    FailPoint.OUTCOME_DECIDED,
    FailPoint.OUTCOME_COMMIT_SENT,
    FailPoint.OUTCOME_COMMITTED,
    FailPoint.EXPIRED_FOUND,
    FailPoint.SEIZE_DECIDED,
    FailPoint.SEIZE_COMMIT_SENT,
    FailPoint.SEIZED,
)
"""Where something of such a call can be cut; nothing of it goes over a wire of its own."""

_SCHEMA = f"""
create schema shop;
create table shop.acts (
    id bigint generated always as identity, intent_id text, commit_key text, idempotency_key text, tool text, key text, nth int
);
grant usage on schema shop to {SERVICE};
grant select, insert on shop.acts to {SERVICE};
"""
_ACT = """
insert into shop.acts (intent_id, commit_key, idempotency_key, tool, key, nth) values (%(commitgate/intent_id)s,
    %(commitgate/commit_key)s, %(commitgate/idempotency_key)s, '{tool}', %(key)s, %(nth)s)
"""
_READS = """
select distinct h.intent_id, h.commit_key, h.payload::json ->> 'arguments_raw' from ledger.events h
join ledger.events s on (s.shard, s.tenant, s.commit_key, s.intent_id) = (h.shard, h.tenant, h.commit_key, h.intent_id)
where h.type = 'intent.held' and h.payload::json ->> 'tool' = 'read' and s.type = 'dispatch.started'
"""


class InsideStage(Stage):
    """A stage whose tools live in its database."""

    def __init__(self, folder: Path, zygote: Zygote, postgres: Server) -> None:
        super().__init__(folder, zygote, postgres)
        self._database = libpq(postgres.database(DATABASE).admin_url)
        with psycopg.connect(self._database, autocommit=True) as admin:
            admin.execute(_SCHEMA)
        timeout = "5s"
        tools: dict[str, Any] = {
            "read": {
                "effect": "READ_ONLY",
                "reads": ["{key}"],
                "upstream": {
                    KIND: {"statement": "select id from shop.acts where key = %(key)s and %(nth)s >= 0"}
                },
            },
            "put": {"effect": "IDEMPOTENT", "window": "1h", "writes": ["{key}"]},
            "write": {"effect": "WRITE", "writes": ["{key}"]},
        }
        for name, tool in tools.items():
            tool["timeout"] = timeout
            tool.setdefault("upstream", {KIND: {"statement": _ACT.format(tool=name)}})
        table = {"policy": {"reads_behind_writes": "hold"}, "tools": tools}
        EffectTables(self.ledger, utc_now).apply(everyone(TENANT), json.dumps(table))

    def quiet_tool(self) -> None:
        """Nothing acts on its own: what is not committed never will be once nobody is connected any more."""

    def log(self) -> list[dict[str, object]]:
        with psycopg.connect(self._database, autocommit=True) as admin:
            acts = admin.execute(
                "select intent_id, commit_key, idempotency_key, tool, key, nth from shop.acts order by id"
            ).fetchall()
            reads = admin.execute(_READS).fetchall()
        names = ("intent_id", "commit_key", "idempotency_key", "tool", "key", "nth")
        told: list[dict[str, object]] = [dict(zip(names, act, strict=True)) for act in acts]
        for intent_id, commit_key, raw in reads:
            asked = json.loads(raw)
            told.append(
                {
                    "intent_id": intent_id,
                    "commit_key": commit_key,
                    "idempotency_key": None,
                    "tool": "read",
                    **asked,
                }
            )
        return [{"line": "acted", "replayed": False, **line} for line in told]


class InsideCrash(Crash):
    """A crash whose earlier dispatcher dies between the statements and the outcome."""

    def _after_a_death(self) -> Forked:
        stage = self._stage
        earlier = stage.arming(FailPoint.ANSWER_RECEIVED, 2)
        dead = stage.new_dispatcher(earlier, self._planted, ready=False)
        self._busy.append(stage.runtime.rule(self._turns))
        dead.await_death(PATIENCE)
        return stage.new_dispatcher(self._arming(1), self._planted, ready=False)


def representatives() -> Iterator[Case]:
    """The moments around the one commit, and around a lease that ran out."""
    for point in (FailPoint.ANSWER_RECEIVED, FailPoint.OUTCOME_DECIDED, FailPoint.OUTCOME_COMMITTED):
        yield Case(point, plan.DISPATCHER, plan.WRITE, KIND)
    for victim in (plan.DISPATCHER, plan.POSTGRES):
        yield Case(FailPoint.OUTCOME_COMMIT_SENT, victim, plan.WRITE, KIND)
    yield Case(FailPoint.SEIZE_COMMIT_SENT, plan.DISPATCHER, plan.PUT, KIND)


def matrix() -> Iterator[Case]:
    """Every combination that there is."""
    for point in POINTS:
        for victim in (plan.DISPATCHER, plan.GATEWAY, plan.POSTGRES):
            for effect in plan.CLASSES:
                yield Case(point, victim, effect, KIND)


@contextmanager
def inside_stage(folder: Path, postgres: Server) -> Iterator[InsideStage]:
    """Everything running; nothing is left of it afterwards."""
    with Zygote(folder) as zygote:
        running = InsideStage(folder, zygote, postgres)
        try:
            yield running
        finally:
            running.close()
