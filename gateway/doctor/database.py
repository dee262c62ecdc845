"""The database: who logs in, which schema, whether a commit is on disk, whose time it is, whether it can call."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from sqlalchemy import Engine, text

from gateway.doctor.finding import Finding, Verdict
from gateway.settings import Settings
from ledger.access.duty import Duty
from ledger.access.login import check_login
from ledger.errors import MissingPrivileges, SchemaOutdated, UnsafeLogin
from ledger.incarnation import Incarnations
from ledger.listen import CHANNEL, Listener
from ledger.migrate import current_revision, head
from ledger.sharding import SHARDS

SKEW, TOO_SKEWED = 1.0, 30.0
"""Seconds between the clocks of process and database, from which the doctor warns, and fails."""

HEARD_WITHIN = 5.0
"""Seconds within which a notification has to come back."""

_OWNER = "commitgate db upgrade, with the owner's login in COMMITGATE_MIGRATION_DATABASE_URL"
_SETTINGS = text(
    "select current_setting('server_version') as version, current_setting('synchronous_commit') as synchronous_commit,"
    " current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,"
    " pg_is_in_recovery() as standby"
)


def reached(engine: Engine) -> Iterator[Finding]:
    """``database``: it answers, and takes writes."""
    with engine.connect() as connection:
        row = connection.execute(_SETTINGS).one()
    place = engine.url.render_as_string(hide_password=True)
    told = f"Postgres {row.version} at {place}"
    if row.standby:
        yield Finding(
            "database", Verdict.FAIL, told + " is a standby", "name the primary in COMMITGATE_DATABASE_URL"
        )
    else:
        yield Finding("database", Verdict.PASS, told)


def schema(engine: Engine) -> Iterator[Finding]:
    """``schema``: the newest revision is applied."""
    with engine.connect() as connection:
        current = current_revision(connection)
    if current == head():
        yield Finding("schema", Verdict.PASS, f"at revision {current}")
    else:
        yield Finding(
            "schema", Verdict.FAIL, f"at {current or 'no revision'}, the newest is {head()}", _OWNER
        )


def login(engine: Engine, settings: Settings) -> Iterator[Finding]:
    """``login``: it may do a gateway's work, and no more."""
    needs = (Duty.WRITER, Duty.DISPATCHER, Duty.SEALER if settings.seal else Duty.RECONCILER)
    try:
        held = check_login(engine, needs)
    except UnsafeLogin as error:
        hint = "give services a login of their own, a member of commitgate_service and of nothing else"
        yield Finding("login", Verdict.FAIL, str(error), hint)
    except MissingPrivileges as error:
        yield Finding("login", Verdict.FAIL, str(error), "GRANT commitgate_service TO the login")
    except SchemaOutdated as error:
        yield Finding("login", Verdict.FAIL, str(error), _OWNER)
    else:
        yield Finding("login", Verdict.PASS, f"{engine.url.username} holds {', '.join(sorted(held))}")


def durability(engine: Engine) -> Iterator[Finding]:
    """``synchronous_commit``, ``fsync``, ``full_page_writes``: what is committed survives."""
    with engine.connect() as connection:
        row = connection.execute(_SETTINGS).one()
    told = f"synchronous_commit = {row.synchronous_commit} in our sessions"
    if row.synchronous_commit in ("on", "remote_apply"):
        yield Finding("synchronous_commit", Verdict.PASS, told)
    else:
        hint = "a pooler or a role setting changes it: a call could be sent whose row is lost"
        yield Finding("synchronous_commit", Verdict.FAIL, told, hint)
    for name, harm in (
        ("fsync", "a crash of the machine can lose rows of calls that were sent: set fsync = on"),
        (
            "full_page_writes",
            "a crash can tear pages, unless the file system cannot: set full_page_writes = on",
        ),
    ):
        value = str(row._mapping[name])
        verdict = Verdict.PASS if value == "on" else Verdict.FAIL
        yield Finding(name, verdict, f"{name} = {value}", "" if verdict is Verdict.PASS else harm)


def incarnation(engine: Engine) -> Iterator[Finding]:
    """``incarnation``: a dispatcher has taken the database in; until then only reads are sent."""
    look = Incarnations(engine).look(range(SHARDS))
    told = f"{SHARDS - len(look.foreign)} of {SHARDS} shards taken in"
    if not look.foreign:
        yield Finding("incarnation", Verdict.PASS, told)
    else:
        hint = "the next dispatcher that starts takes it in: commitgate worker, or commitgate serve"
        yield Finding("incarnation", Verdict.WARN, told + "; no WRITE is sent on the others", hint)


def clock(engine: Engine, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Iterator[Finding]:
    """``clock``: windows of idempotency and approvals are counted by processes, leases by the database."""
    with engine.connect() as connection:
        connection.execute(text("select 1"))
        before = now()
        theirs = connection.execute(text("select clock_timestamp()")).scalar_one()
        after = now()
    skew = abs((theirs - (before + (after - before) / 2)).total_seconds())
    told = f"{skew:.3f} s between this process and the database"
    if skew < SKEW:
        yield Finding("clock", Verdict.PASS, told)
    else:
        verdict = Verdict.FAIL if skew >= TOO_SKEWED else Verdict.WARN
        yield Finding(
            "clock", verdict, told, "synchronise the clocks (NTP) of gateways, workers and database"
        )


def notify(engine: Engine, settings: Settings) -> Iterator[Finding]:
    """``notify``: dispatchers of other processes hear at once of what is let go."""
    if not settings.notify:
        why = "COMMITGATE_PGBOUNCER is set" if settings.pgbouncer else "COMMITGATE_WAKE=poll"
        told = f"not used ({why}): dispatchers look every {settings.poll_interval} s"
        yield Finding("notify", Verdict.INFO, told)
        return
    heard = threading.Event()
    listener = Listener(engine, heard.set, application_name="commitgate-doctor")
    began = time.monotonic()
    with listener:
        # It calls once when it begins to listen; only what comes after that is a notification.
        if heard.wait(HEARD_WITHIN):
            heard.clear()
            with engine.begin() as connection:
                connection.execute(text(f"notify {CHANNEL}"))
            if heard.wait(HEARD_WITHIN):
                told = f"heard; {1000 * (time.monotonic() - began):.0f} ms with the connection"
                yield Finding("notify", Verdict.PASS, told)
                return
    hint = "behind a pooler in transaction mode set COMMITGATE_PGBOUNCER=true; calls are found by polling meanwhile"
    yield Finding("notify", Verdict.WARN, f"nothing was heard within {HEARD_WITHIN:.0f} s", hint)
