"""Files that a command writes: there as a whole, or as they were."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

_NAMED = 200
"""Bytes of a file's name that its unfinished one repeats."""


@contextmanager
def written_whole(file: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of ``file`` once the block is through, and is on the disk then.

    A link stays one: what it leads to is replaced. Into a device or a pipe the whole is written at the end, for neither can
    be replaced. Raises ``OSError``.
    """
    target = file.resolve()
    if target.exists() and not target.is_file():
        with TemporaryFile() as out:
            yield out
            out.seek(0)
            with target.open("wb") as there:
                shutil.copyfileobj(out, there)
        return
    # A name may be as long as names may be, and this one is longer.
    begins = os.fsdecode(os.fsencode(target.name)[:_NAMED])
    beside = target.with_name(f".{begins}.{os.getpid()}.part")
    try:
        with beside.open("xb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        beside.replace(target)
        _sync(target.parent)
    finally:
        beside.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
