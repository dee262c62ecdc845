"""What most commands need: settings, services over the database, and who is asking."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from gateway.database import database
from gateway.principal import Principal, everyone
from gateway.settings import Settings
from gateway.wiring import Wired, wire
from ledger.access.duty import Duty

WRITER = (Duty.WRITER,)


@contextmanager
def services(
    settings: Settings | None = None, *, needs: Collection[Duty] = WRITER
) -> Iterator[tuple[Wired, Principal]]:
    """Services over the configured database, and the operator of this machine as their caller.

    ``needs``: the duties of the command (``gateway.database.database``).
    """
    settings = settings or Settings()
    with database(settings, "commitgate-cli", needs) as engine:
        yield (
            wire(engine, notify=settings.notify),
            Principal(settings.tenant, everyone(settings.tenant).roles, "cli"),
        )
