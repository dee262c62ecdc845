from collections.abc import Iterator

import pytest

from tests.gateway.desk import Desk, open_desk
from tests.postgres import TestDatabase


@pytest.fixture(scope="module")
def desk(module_database: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with open_desk(module_database, tmp_path_factory.mktemp("home")) as made:
        yield made
