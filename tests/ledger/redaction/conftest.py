from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from ledger.access.duty import Duty
from ledger.connect import connect
from tests.ledger.redaction.secret import SecretTurn, secret_turn
from tests.ledger.roles.logins import Login, logins


@pytest.fixture(scope="module")
def people(module_database) -> Iterator[dict[str, Login]]:
    """A login for each duty on the module's database."""
    with logins(module_database) as made:
        yield made


@pytest.fixture
def redactor(people) -> Iterator[Engine]:
    """Connections under a login that redacts, and can do nothing else."""
    engine = connect(people[Duty.REDACTOR].url)
    yield engine
    engine.dispose()


@pytest.fixture
def turn(ledger, engine, tenant) -> SecretTurn:
    return secret_turn(ledger, engine, tenant)
