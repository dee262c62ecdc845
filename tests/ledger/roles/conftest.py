from collections.abc import Iterator

import pytest

from tests.ledger.roles.logins import Login, logins


@pytest.fixture(scope="module")
def people(module_database) -> Iterator[dict[str, Login]]:
    """A login for each duty on the module's database."""
    with logins(module_database) as made:
        yield made
