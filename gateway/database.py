"""The database of a process: the one that is configured, or the embedded one of its home."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from gateway import embedded
from gateway.settings import Settings
from ledger.connect import check_service_login, connect
from ledger.migrate import upgrade


@contextmanager
def database(settings: Settings, application_name: str) -> Iterator[Engine]:
    """A checked pool of service connections while the block runs.

    Without a URL the embedded server of the home is joined, started where nobody has, and brought to the newest schema:
    it is ours. A configured database is never migrated here. Raises what ``check_service_login`` and the embedded
    server raise.
    """
    if settings.database_url is not None:
        yield from _pool(settings, settings.database_url, application_name)
        return
    with embedded.start(settings.home) as server:
        upgrade(server.owner_url)
        yield from _pool(settings, server.service_url, application_name)


@contextmanager
def owner_url(settings: Settings) -> Iterator[str]:
    """The login that owns the schema: the configured one, else the configured database's, else the embedded owner's."""
    configured = settings.migration_database_url or settings.database_url
    if configured is not None:
        yield configured
        return
    with embedded.start(settings.home) as server:
        yield server.owner_url


def _pool(settings: Settings, url: str, application_name: str) -> Iterator[Engine]:
    engine = connect(
        url, pgbouncer=settings.pgbouncer, pool_size=settings.pool_size, application_name=application_name
    )
    try:
        check_service_login(engine)
        yield engine
    finally:
        engine.dispose()
