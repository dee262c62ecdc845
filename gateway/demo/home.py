"""A home for one demonstration: database, logs, and the shop's data."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.embedded.datafolder import POINTER
from gateway.embedded.locks import is_held

GUARDIAN_PATIENCE = 10.0


@contextmanager
def fresh_home(*, keep: bool) -> Iterator[Path]:
    """A new folder below the temporary one; it goes away at the end, with the database in it, unless it is kept."""
    home = Path(tempfile.mkdtemp(prefix="commitgate-demo-"))
    # The account that runs the database may be another one, and has to enter.
    home.chmod(0o755)
    try:
        yield home
    finally:
        if not keep:
            remove_home(home)


def remove_home(home: Path) -> None:
    """Take a home away, and the data folder that its pointer names, once the database's guardian is gone."""
    data = home / "postgres"
    pointer = home / POINTER
    if pointer.exists():
        data = Path(pointer.read_text(encoding="utf-8").strip())
    deadline = time.monotonic() + GUARDIAN_PATIENCE
    while _guarded(data) and time.monotonic() < deadline:
        time.sleep(0.05)
    for folder in (data, home):
        shutil.rmtree(folder, ignore_errors=True)


def _guarded(data: Path) -> bool:
    try:
        return is_held(data / "guardian.lock")
    except OSError:
        return os.path.isdir(data)
