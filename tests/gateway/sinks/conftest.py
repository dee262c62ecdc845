from collections.abc import Iterator

import pytest

from tests.gateway.http.front import Front
from tests.gateway.http.front import front as running_front
from tests.postgres import TestDatabase


@pytest.fixture(scope="module")
def front(module_database: TestDatabase) -> Iterator[Front]:
    """A gateway that the tests of one module share; each opens streams of its own."""
    with running_front(module_database) as made:
        yield made
