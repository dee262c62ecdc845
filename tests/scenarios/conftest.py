"""The gateway of these tests: real processes over a database of the module's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests import processes
from tests.postgres import TestDatabase


def settings(database: TestDatabase, home: Path) -> dict[str, str]:
    """The environment of the product's processes."""
    return {"COMMITGATE_DATABASE_URL": database.service_url, "COMMITGATE_HOME": str(home)}


@pytest.fixture(scope="module")
def environ(module_database: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return settings(module_database, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def gateway(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """A client of ``commitgate serve`` with its dispatcher."""
    with client_of(processes.gateway(tmp_path_factory.mktemp("gateway"), environ)) as client:
        yield client


@pytest.fixture(scope="module")
def idle_gateway(
    environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx2.Client]:
    """A client of a gateway without a dispatcher."""
    folder = tmp_path_factory.mktemp("gateway")
    with client_of(processes.gateway(folder, environ, "--no-dispatch")) as client:
        yield client


@contextmanager
def client_of(gateway: processes.Process) -> Iterator[httpx2.Client]:
    """A client; at the end the gateway has to end in order, and to have said nothing of a fault."""
    with gateway as process:
        with httpx2.Client(base_url=process.ready["listening"], timeout=60) as client:
            yield client
        assert process.end() == 0
        said = process.out.read_text() + process.errors.read_text()
        assert "Traceback" not in said, said
