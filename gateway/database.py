"""The database of a process: the one that is configured, or the embedded one of its home."""

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy import Engine

from gateway import embedded
from gateway.embedded import EmbeddedPostgres, EmbeddedPostgresError
from gateway.embedded.logins import LOGINS, ensure_logins
from gateway.settings import Settings
from ledger.access.duty import Duty
from ledger.access.login import check_login
from ledger.connect import connect
from ledger.migrate import upgrade

LOOK = 1.0
"""Seconds between looks at the embedded server."""

_log = structlog.get_logger(__name__)


@contextmanager
def database(settings: Settings, application_name: str, needs: Collection[Duty]) -> Iterator[Engine]:
    """A checked pool of connections for a process with the duties ``needs``, while the block runs.

    Without a URL the embedded server of the home is joined, started where nobody has, and brought to the newest schema:
    it is ours. A configured database is never migrated here. Raises what ``check_login`` and the embedded server raise.
    """
    configured = _configured(settings, needs)
    if configured is not None:
        yield from _pool(settings, configured, application_name, needs)
        return
    with embedded.start(settings.home) as server:
        upgrade(server.owner_url)
        ensure_logins(server.owner_url)
        with _kept_up(server):
            yield from _pool(settings, _embedded(server, needs), application_name, needs)


@contextmanager
def owner_url(settings: Settings) -> Iterator[str]:
    """The login that owns the schema: the configured one, else the configured database's, else the embedded owner's."""
    configured = settings.migration_database_url or settings.database_url
    if configured is not None:
        yield configured
        return
    with embedded.start(settings.home) as server:
        yield server.owner_url


def _configured(settings: Settings, needs: Collection[Duty]) -> str | None:
    """The login that is configured for these duties; None where the embedded database is meant."""
    match list(needs):
        case [Duty.REDACTOR]:
            return settings.redaction_database_url or settings.database_url
        case [Duty.RECONCILER]:
            return settings.reconciliation_database_url or settings.database_url
        case _:
            return settings.database_url


def _embedded(server: EmbeddedPostgres, needs: Collection[Duty]) -> str:
    """The login that holds one duty alone; for several, that of the services."""
    match list(needs):
        case [duty]:
            return server.login_url(LOGINS[duty])
        case _:
            return server.service_url


def _pool(settings: Settings, url: str, application_name: str, needs: Collection[Duty]) -> Iterator[Engine]:
    engine = connect(
        url, pgbouncer=settings.pgbouncer, pool_size=settings.pool_size, application_name=application_name
    )
    try:
        check_login(engine, needs)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _kept_up(server: EmbeddedPostgres) -> Iterator[None]:
    """Start the embedded server again, under the same address, where it died under its users."""
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(LOOK):
            if server.alive:
                continue
            _log.warning("embedded_postgres_died", home=str(server.folder.root))
            try:
                server.reopen()
            except EmbeddedPostgresError as error:
                _log.error("embedded_postgres_not_restarted", code=error.code, error=str(error))

    keeper = threading.Thread(target=keep, name="embedded-postgres-keeper", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()
