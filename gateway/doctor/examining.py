"""All checks, in the order in which one depends on another."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine

from gateway.database import database as opened
from gateway.doctor import database, evidence, machine, tools, work
from gateway.doctor.finding import Finding, Verdict, examined
from gateway.embedded import EmbeddedPostgresError
from gateway.running import upstreams
from gateway.service.tables import EffectTables
from gateway.settings import Settings
from gateway.upstream.mcp.definitions import Quarantine
from gateway.wiring import utc_now
from ledger.access.duty import Duty
from ledger.append import Ledger
from ledger.connect import connect
from ledger.errors import LedgerError

NAME = "commitgate-doctor"


@dataclass(frozen=True, slots=True)
class Asked:
    """What to look at. ``host``: where the gateway is to listen. ``connect``: also try whether tools can be reached.
    ``ask_servers``: also ask the MCP servers of the table, starting those that are commands, how they define their tools.
    """

    settings: Settings
    host: str = "127.0.0.1"
    connect: bool = True
    ask_servers: bool = False


def examine(asked: Asked) -> Iterator[Finding]:
    """Every finding as it is made. Without a database, what can be said without it. Raises nothing of ours."""
    settings = asked.settings
    yield from machine.python()
    yield from machine.packages()
    yield from examined("disk_space", lambda: machine.disk(settings))
    try:
        with _engine(settings) as engine:
            yield from _database(engine, asked)
    except (LedgerError, EmbeddedPostgresError) as error:
        hint = "COMMITGATE_DATABASE_URL names it; unset, the embedded one of COMMITGATE_HOME is used"
        yield Finding("database", Verdict.FAIL, f"{error.code}: {error}", hint)


def _database(engine: Engine, asked: Asked) -> Iterator[Finding]:
    settings = asked.settings
    found = list(examined("database", lambda: database.reached(engine)))
    yield from found
    if any(finding.verdict is Verdict.FAIL for finding in found):
        return
    found = list(examined("schema", lambda: database.schema(engine)))
    yield from found
    yield from examined("durability", lambda: database.durability(engine))
    yield from examined("clock", lambda: database.clock(engine))
    yield from examined("notify", lambda: database.notify(engine, settings))
    if any(finding.verdict is Verdict.FAIL for finding in found):
        return
    yield from examined("login", lambda: database.login(engine, settings))
    yield from examined("incarnation", lambda: database.incarnation(engine))
    yield from examined("sealing_lag", lambda: evidence.sealing(engine))
    yield from examined("checkpoint", lambda: evidence.checkpoint(engine))
    yield from examined("signing_key", lambda: evidence.key(engine, settings))
    yield from examined("keys", lambda: work.doors(engine, asked.host))
    yield from examined("effect_table", lambda: _table(engine, asked))
    yield from examined("doubts", lambda: work.waiting(engine))
    yield from examined("pauses", lambda: work.stopped(engine))


def _table(engine: Engine, asked: Asked) -> Iterator[Finding]:
    settings = asked.settings
    tenant = settings.tenant
    force = EffectTables(Ledger(engine, clock=utc_now), utc_now).current(tenant)
    yield from tools.in_force(force, tenant)
    if force.version == 0:
        return
    yield from tools.upstreams(force.table, upstreams(settings, Quarantine(), engine).kinds)
    yield from tools.secrets(force.table, tenant, settings.secrets)
    yield from tools.unsaid(force.table)
    if asked.connect:
        yield from tools.reachable(force.table)
    if asked.ask_servers:
        from gateway.doctor.servers import quarantined

        yield from quarantined(force.table, tenant, settings.secrets)


@contextmanager
def _engine(settings: Settings) -> Iterator[Engine]:
    """Of the configured login, however little it may do; else of the embedded server, which is ours and started."""
    if settings.database_url is None:
        with opened(settings, NAME, (Duty.WRITER, Duty.DISPATCHER, Duty.SEALER)) as engine:
            yield engine
        return
    engine = connect(settings.database_url, pgbouncer=settings.pgbouncer, pool_size=2, application_name=NAME)
    try:
        yield engine
    finally:
        engine.dispose()
