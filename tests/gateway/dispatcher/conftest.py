from collections.abc import Iterator

import pytest

from tests.gateway.dispatcher.floor import Floor, floor_over
from tests.postgres import TestDatabase


@pytest.fixture
def floor(database: TestDatabase) -> Iterator[Floor]:
    with floor_over(database.service_url) as floor:
        yield floor
