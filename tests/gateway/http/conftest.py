from collections.abc import Iterator

import pytest

from tests.gateway.http.front import Front
from tests.gateway.http.front import front as running_front
from tests.gateway.http.stage import Stage, set_up
from tests.postgres import TestDatabase


@pytest.fixture(scope="module")
def front(module_database: TestDatabase) -> Iterator[Front]:
    """A front that the tests of one module share; each opens streams of its own."""
    with running_front(module_database) as made:
        yield made


@pytest.fixture(scope="module")
def stage(front: Front) -> Iterator[Stage]:
    """A stream at a stage; whoever changes it, or a row, is found out at the end."""
    made = set_up(front)
    before = (made.writer.show(), front.rows())
    yield made
    assert (made.writer.show(), front.rows()) == before
