import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.embedded import binaries
from gateway.embedded.account import server_account
from tests.failover.servers import Fleet, Machine, seeded


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    account = server_account(None)
    root = Path(tempfile.mkdtemp(prefix="commitgate-failover-"))
    account.own(root)
    root.chmod(0o755)
    software = Path(tempfile.mkdtemp(prefix="commitgate-software-"))
    software.chmod(0o755)
    try:
        yield Machine(binaries.find(account, software / "copy"), account, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(software, ignore_errors=True)


@pytest.fixture(scope="session")
def seed(machine: Machine) -> Path:
    from ledger.migrate import upgrade

    return seeded(machine, upgrade)


@pytest.fixture
def fleet(machine: Machine, seed: Path) -> Iterator[Fleet]:
    fleet = Fleet(machine, seed)
    yield fleet
    fleet.close()
