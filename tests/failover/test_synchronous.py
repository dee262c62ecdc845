"""The primary is killed under load with synchronous replication: the standby goes on where it was."""

from contextlib import closing
from pathlib import Path

import httpx2

from effects.intent import IntentState
from ledger.append import Ledger
from ledger.connect import connect
from ledger.events import Event, EventType
from ledger.incarnation import RESTORED
from ledger.rebuild import check
from ledger.state import Intent
from tests import processes
from tests.failover.load import Load
from tests.failover.servers import DATABASE, Fleet, Server, both
from tests.failover.toollog import ToolLog
from tests.gateway.dispatcher.floor import TENANT, Clock
from tests.gateway.toolserver import ToolServer, eventually

WRITERS = 4
BEFORE, AFTER = 20, 12
"""Turns that are through before the primary is killed, and after the standby took over."""

TAKEN_IN = "select bool_and(identity = ledger.incarnation()) from ledger.incarnations"
UNSETTLED = "select count(*) from ledger.intents where state in ('held', 'released', 'dispatched')"


def test_the_primary_is_killed_under_load(fleet: Fleet, tmp_path: Path) -> None:
    primary = fleet.primary()
    standby = fleet.add(primary.standby("standby"))
    primary.wait_for_standby()
    environ = {
        "COMMITGATE_DATABASE_URL": both(primary, standby),
        "COMMITGATE_HOME": str(tmp_path / "home"),
        "COMMITGATE_SWEEP_SECONDS": "0.1",
    }
    with (
        closing(ToolLog(tmp_path / "tool.jsonl")) as log,
        ToolServer() as tools,
        processes.gateway(tmp_path, environ, "--no-dispatch") as gateway,
        processes.dispatcher(tmp_path, environ),
    ):
        tools.behave("/write", log)
        url = str(gateway.ready["listening"])
        put_in_force(url, tools)
        with Load(url, WRITERS) as load:
            eventually(lambda: (len(load.done) >= BEFORE and len(log.slow()) > 1) or load.failures)
            primary.kill()
            under_way = log.slow()
            standby.promote()
            through = len(load.done)
            eventually(lambda: len(load.done) >= through + AFTER or load.failures, within=40)
        # An answer that comes before is recorded as ever, and leaves no doubt.
        eventually(lambda: standby.asked(TAKEN_IN, DATABASE), within=40)
        log.let_go()
        assert not load.failures
        eventually(lambda: standby.asked(UNSETTLED, DATABASE) == 0, within=40)
        everything_is_there(standby, load, log, under_way)


def put_in_force(url: str, tools: ToolServer) -> None:
    tool = {
        "effect": "WRITE",
        "writes": ["{key}"],
        "timeout": "30s",
        "upstream": {"http": f"{tools.url}/write"},
    }
    with httpx2.Client(base_url=url, trust_env=False) as client:
        client.post("/v1/effects", json={"tools": {"write": tool}}).raise_for_status()


def everything_is_there(standby: Server, load: Load, log: ToolLog, under_way: list[str]) -> None:
    engine = connect(standby.database(DATABASE).service_url)
    ledger = Ledger(engine, clock=Clock())
    sent, found, doubted = log.sent(), {}, set()
    for key, seq in load.acked.items():
        events = ledger.events(TENANT, key, after=0, limit=1000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len(events) >= seq, f"{key}: {seq} was acknowledged, {len(events)} are there"
        if key in load.done:
            text = ledger.read(TENANT, key).branches["main"].text
            assert text == "".join(load.text(int(key.removeprefix("turn-"))))
        found |= ledger.read(TENANT, key).intents
        doubted |= restored(events)
    assert max(sent.values()) == 1, "a WRITE was sent twice"
    assert {i.state for i in found.values()} <= {IntentState.SETTLED, IntentState.IN_DOUBT}
    unsettled = {i.intent_id for i in found.values() if i.state is IntentState.IN_DOUBT}
    assert unsettled <= doubted
    assert set(under_way) <= doubted, "what was under way is in doubt, until its answer comes"
    assert all(settled(found[intent]) for intent in under_way)
    assert {i.intent_id for i in found.values() if settled(i)} <= set(sent)
    assert list(check(engine)) == []
    engine.dispose()


def settled(intent: Intent) -> bool:
    return intent.state is IntentState.SETTLED and intent.final


def restored(events: list[Event]) -> set[str]:
    return {
        str(event.intent_id)
        for event in events
        if event.type is EventType.DISPATCH_IN_DOUBT and event.payload["because"] == RESTORED
    }
