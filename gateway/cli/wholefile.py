"""Files that a command writes: there as a whole, or as they were."""

import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

_NO_LOCKS = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK)
_NAMED = 200
"""Bytes of a file's name that its unfinished one repeats."""


@contextmanager
def written_whole(file: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of ``file`` once the block is through, and is on the disk then.

    A link stays one: what it leads to is replaced. Into a device or a pipe the whole is written at the end, for neither can
    be replaced. What a process that was killed left of the same file is taken away. Raises ``OSError``.
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
    _sweep(target.parent, begins)
    beside = target.with_name(f".{begins}.{os.getpid()}.part")
    with _begun(beside) as out:
        try:
            yield out
            out.flush()
            os.fsync(out.fileno())
            # While it is locked: nobody shall take it for one that was left.
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    _sync(target.parent)


def _begun(beside: Path) -> BinaryIO:
    """A new file, locked for as long as it is open: the lock is gone with its process, whatever ends that."""
    while True:
        out = beside.open("xb")
        try:
            # Somebody who sweeps may have been faster, and then takes it away.
            _lock(out)
            if os.fstat(out.fileno()).st_nlink:
                return out
        except BaseException:
            out.close()
            beside.unlink(missing_ok=True)
            raise
        out.close()


def _lock(out: BinaryIO) -> None:
    try:
        fcntl.flock(out, fcntl.LOCK_EX)
    except OSError as error:
        # A file system without locks: there nothing is swept either.
        if error.errno not in _NO_LOCKS:
            raise


def _sweep(folder: Path, begins: str) -> None:
    """Take away what nobody writes any more. What cannot be is left."""
    left = re.compile(rf"\.{re.escape(begins)}\.\d+\.part")
    with suppress(OSError):
        for place in folder.iterdir():
            if left.fullmatch(place.name):
                with suppress(OSError):
                    _take_away(place)


def _take_away(place: Path) -> None:
    # Neither through a link, nor waiting for whoever writes into a pipe.
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(found, place.lstat()):
            place.unlink()
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
