import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.embedded import binaries
from gateway.embedded.account import server_account
from tests.crash.stage import Stage, stage
from tests.failover.servers import Fleet, Machine, seeded


@pytest.fixture(scope="session")
def crash_fleet() -> Iterator[Fleet]:
    """Servers of the crash tests' own, which they kill and start again."""
    from ledger.migrate import upgrade

    account = server_account(None)
    root, software = (Path(tempfile.mkdtemp(prefix=f"commitgate-{name}-")) for name in ("crash", "software"))
    account.own(root)
    for folder in (root, software):
        folder.chmod(0o755)
    machine = Machine(binaries.find(account, software / "copy"), account, root)
    fleet = Fleet(machine, seeded(machine, upgrade))
    try:
        yield fleet
    finally:
        fleet.close()
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(software, ignore_errors=True)


@pytest.fixture(scope="module")
def crash_stage(crash_fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One set of processes for all the cases of a module."""
    postgres = crash_fleet.primary(fsync="off")
    with stage(tmp_path_factory.mktemp("crash"), postgres) as running:
        yield running
    postgres.kill()
