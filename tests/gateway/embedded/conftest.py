"""Homes and users for the tests of the embedded Postgres; after each test nothing may run on its home."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.gateway.embedded.processes import User, nothing_left

NewUser = Callable[..., User]


def _made() -> Path:
    home = Path(
        tempfile.mkdtemp(prefix="cg-")
    )  # short, and where root may step down: not below pytest's 0700
    home.chmod(0o755)
    return home


@pytest.fixture
def new_user() -> Iterator[NewUser]:
    """Starts user processes, and ends those that a test leaves."""
    users: list[User] = []

    def start(*args: object, **options: object) -> User:
        users.append(User(*args, **options))  # type: ignore[arg-type]
        return users[-1]

    yield start
    for user in users:
        user.end()


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty home; tests name it before `new_user`, so that users end before it is looked at."""
    made = _made()
    yield made
    left = not nothing_left(made)
    shutil.rmtree(made)
    assert not left, "a guardian or a server still runs"


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    """A home whose cluster the tests of one module share: it is made once."""
    made = _made()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def warm_home(shared_home: Path) -> Iterator[Path]:
    """As home, with the cluster that the tests before this one used."""
    yield shared_home
    assert nothing_left(shared_home), "a guardian or a server still runs"
