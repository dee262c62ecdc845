"""An auditor of the test's tenant."""

from collections.abc import Iterator

import pytest

from tests.ledger.audit.asking import Auditor, auditor_of
from tests.ledger.planting import Planter


@pytest.fixture
def auditor(module_database, tenant) -> Iterator[Auditor]:
    with auditor_of(module_database, tenant) as auditor:
        yield auditor


@pytest.fixture
def planter(module_database) -> Iterator[Planter]:
    planter = Planter(module_database.admin_url)
    yield planter
    planter.close()
