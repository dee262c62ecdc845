"""What the ledger's tests stand on: a migrated database and its services' login."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count

import pytest
from sqlalchemy import Engine

from ledger.append import Ledger
from ledger.connect import connect
from tests.ledger.planting import Planter

_NUMBERS = count()


@pytest.fixture
def tenant() -> str:
    """A tenant that no other test writes for."""
    return f"tenant-{next(_NUMBERS)}"


@pytest.fixture
def engine(module_database) -> Iterator[Engine]:
    """Connections under the services' login."""
    engine = connect(module_database.service_url)
    yield engine
    engine.dispose()


@pytest.fixture
def owner(module_database) -> Iterator[Engine]:
    """Connections under the owner's login, which no service has."""
    engine = connect(module_database.owner_url)
    yield engine
    engine.dispose()


@pytest.fixture
def ledger(engine: Engine) -> Ledger:
    return Ledger(engine, clock=lambda: datetime.now(UTC))


@pytest.fixture
def planter(module_database) -> Iterator[Planter]:
    planter = Planter(module_database.admin_url)
    yield planter
    planter.close()
