"""What most commands need: settings, services over the database, and who is asking."""

from collections.abc import Iterator
from contextlib import contextmanager

from gateway.database import database
from gateway.principal import Principal, everyone
from gateway.settings import Settings
from gateway.wiring import Wired, wire


@contextmanager
def services(settings: Settings | None = None) -> Iterator[tuple[Wired, Principal]]:
    """Services over the configured database, and the operator of this machine as their caller."""
    settings = settings or Settings()
    with database(settings, "commitgate-cli") as engine:
        yield (
            wire(engine, notify=settings.notify),
            Principal(settings.tenant, everyone(settings.tenant).roles, "cli"),
        )
