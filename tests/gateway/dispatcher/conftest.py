from collections.abc import Iterator

import pytest

from ledger.connect import connect
from tests.gateway.dispatcher.floor import Clock, Floor
from tests.gateway.toolserver import ToolServer
from tests.postgres import TestDatabase


@pytest.fixture
def floor(database: TestDatabase) -> Iterator[Floor]:
    engine = connect(database.service_url)
    with ToolServer() as tools:
        yield Floor(engine, tools, Clock())
    engine.dispose()
