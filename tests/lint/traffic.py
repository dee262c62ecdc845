"""Everything that the product does to a ledger, done for real, with every statement that it sends kept."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Engine

from effects.intent import IntentState
from gateway.principal import everyone
from gateway.service.doubts import Doubts
from gateway.service.scanning import find_blocks
from gateway.turn.opening import StreamTerms
from gateway.turn.tokens import TokenEvent
from ledger import rebuild
from ledger.connect import check_service_login, connect
from ledger.events import EventType
from ledger.listing import list_intents, list_streams
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from ledger.reconcile.run import Options, run
from ledger.reconcile.toollog import ToolLog
from ledger.redaction import recording as redaction
from ledger.redaction.purging import Purger
from tests.gateway.dispatcher.floor import TENANT, Clock, Floor, with_settings
from tests.gateway.toolserver import ToolServer, eventually, ok, reset
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn
from tests.ledger.roles.logins import login
from tests.postgres import TestDatabase
from tests.statements import looked_at_by

WRITTEN = frozenset(
    {
        ("copy", "events"),
        ("insert", "streams"),
        ("update", "streams"),
        ("insert", "intents"),
        ("insert", "dispatches"),
        ("update", "dispatches"),
        ("insert", "batches"),
        ("delete", "streams"),
        ("delete", "intents"),
        ("insert", "seals"),
        ("update", "events"),
        *(("select", name) for name in ("events", "streams", "intents", "dispatches", "batches")),
    }
)
"""Verbs and tables that the traffic must reach: a lint of statements that were never sent would prove nothing."""


def record(database: TestDatabase, folder: Path) -> frozenset[str]:
    """Every different statement that the product sends to ``database`` meanwhile. ``folder`` takes a file or two."""
    sent: set[str] = set()
    with looked_at_by(sent.add):
        engine = connect(database.service_url)
        try:
            with ToolServer() as tools:
                floor = Floor(engine, tools, Clock())
                _turns(floor)
                _look_over(floor, engine)
                _redact(floor, database)
            _seal(engine)
            _reconcile(engine, folder)
            _rebuild(engine)
        finally:
            engine.dispose()
    return frozenset(sent)


def _turns(floor: Floor) -> None:
    """Calls of every class, one lost, one rejected, one whose lease runs out, a takeover, replays, an idle stream."""
    floor.tools.behave("/write", ok(), reset)
    settings = with_settings(lease_floor=0.5, lease_margin=0.0)
    outlived = _outlived(floor)
    with floor.dispatching(settings):
        for tool in ("read", "put", "write"):
            floor.turn(tool, key=tool).until(IntentState.SETTLED, final=True)
        floor.turn("write", key="lost").until(IntentState.IN_DOUBT)
        floor.draft("write", key="rejected").reject()
        eventually(lambda: outlived in _in_doubt(floor))
        floor.draft("read", key="silent")
        floor.clock.skip(2 * settings.idle_timeout)
    _batch(floor)
    doubts = Doubts(floor.engine, floor.ledger, floor.tables, floor.clock)
    for doubt in doubts.list(everyone(TENANT)):
        key, intent = str(doubt["commit_key"]), str(doubt["intent_id"])
        doubts.resolve(everyone(TENANT), key, intent, happened=True, reason="seen")


def _outlived(floor: Floor) -> str:
    """A dispatch whose worker is gone, for the sweep to find its lease and close it; its intent."""
    turn = LiveTurn(floor.ledger, TENANT, "outlived", age=timedelta(0))
    turn.say(spell("create", name="a"))
    intent = turn.claim("create", lease=0.0)
    floor.ledger.renew(TENANT, "outlived", intent.intent_id, intent.attempts, 9, 5.0)
    return intent.intent_id


def _in_doubt(floor: Floor) -> set[object]:
    found = list_intents(floor.engine, TENANT, state=IntentState.IN_DOUBT, limit=100)
    return {row["intent_id"] for row in found}


def _batch(floor: Floor) -> None:
    """A batch and its replay, after a takeover."""
    view, _ = floor.streams.open(everyone(TENANT), "batched", StreamTerms(source="detected"))
    view, _ = floor.streams.open(everyone(TENANT), "batched", StreamTerms(source="detected"))
    body: dict[str, object] = {"round": 0, "tokens": [{"text": "once"}]}
    write = partial(
        floor.streams.write,
        everyone(TENANT),
        "batched",
        int(str(view["writer_epoch"])),
        [TokenEvent(EventType.TOKENS_ACCEPTED, body)],
        batch_id="b1",
        raw_body=b"{}",
    )
    assert [write().replayed, write().replayed] == [False, True]


def _look_over(floor: Floor, engine: Engine) -> None:
    check_service_login(engine)
    list_streams(engine, TENANT, limit=10)
    list_intents(engine, TENANT, limit=10)
    floor.streams.show(everyone(TENANT), "batched")
    floor.streams.events(everyone(TENANT), "batched", after=0, limit=10)


def _redact(floor: Floor, database: TestDatabase) -> None:
    """One call, under both logins; what is left of it is read by all that follows."""
    turn = LiveTurn(floor.ledger, TENANT, "redacted")
    turn.say(spell("create", name="a"))
    turn.call("create")
    turn.finish()
    name_stays = turn.force.table.tools.__contains__
    told = {"by": "p", "reason": "r", "name_stays": name_stays}
    redaction.record(floor.ledger, TENANT, "redacted", turn.intent("create").intent_id, **told)
    with login(database, "commitgate_redactor") as redactor, redactor.engine() as engine:
        purger = Purger(engine)
        assert [purger.purge(*found) for found in _named(purger)] == [len(turn.state.redacted)]
    assert turn.events


def _named(purger: Purger) -> list[tuple[str, str]]:
    return [(found.tenant, found.commit_key) for found in purger.pending(TENANT)]


def _seal(engine: Engine) -> None:
    sealer = Sealer(engine)
    while sealer.round().events:
        pass
    reader = LogReader(engine)
    asks: tuple[Callable[[], object], ...] = (
        reader.state,
        reader.pending,
        reader.events,
        reader.entries,
        partial(reader.entries, tenant=TENANT),
        reader.checkpoint,
        partial(reader.index_of, TENANT, "batched", 1),
    )
    for ask in asks:
        ask()


def _reconcile(engine: Engine, folder: Path) -> None:
    log = folder / "tools.jsonl"
    line = '{"tool": "write", "intent_id": "unknown", "idempotency_key": "none", "arguments": "{}"%s}\n'
    log.write_text(line % "" + line % ', "commit_key": "batched"')
    now = datetime.now(UTC)
    with ToolLog(log) as tool_log:
        for options in (Options(), Options(since=now - timedelta(days=1)), Options(commit_key="batched")):
            for tenant in (None, TENANT):
                given = {"now": now, "find_blocks": find_blocks, "tool_log": tool_log}
                assert list(run(engine, tenant, options, **given).findings)


def _rebuild(engine: Engine) -> None:
    assert list(rebuild.check(engine)) == []
    assert rebuild.rebuild(engine) > 5
