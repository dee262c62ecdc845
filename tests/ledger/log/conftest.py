"""What the tests of the log stand on: a database of each test's own, since there is one log per database."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, create_engine

from ledger.append import Ledger
from ledger.connect import connect
from ledger.log.reader import LogReader
from tests.postgres import TestDatabase


@pytest.fixture
def engine(database: TestDatabase) -> Iterator[Engine]:
    """Connections under the services' login."""
    service = connect(database.service_url)
    yield service
    service.dispose()


@pytest.fixture
def owner(database: TestDatabase) -> Iterator[Engine]:
    """Connections of a superuser, who is stopped by triggers alone."""
    admin = create_engine(database.admin_url)
    yield admin
    admin.dispose()


@pytest.fixture
def ledger(engine: Engine) -> Iterator[Ledger]:
    made = Ledger(engine, clock=lambda: datetime.now(UTC))
    yield made
    if hasattr(made, "close"):
        made.close()


@pytest.fixture
def reader(engine: Engine) -> LogReader:
    return LogReader(engine)


@pytest.fixture(scope="module")
def module_engine(module_database: TestDatabase) -> Iterator[Engine]:
    """Connections to a database that the tests of a module share."""
    service = connect(module_database.service_url)
    yield service
    service.dispose()
