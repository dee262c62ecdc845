"""Signed checkpoints outside the database: one file a log, one line of JSON a checkpoint, appended and synced.

A line is ``{"at": …, "note": …, "size": …}``; ``note`` is the C2SP signed note as it is. What was once published shows
whether the log was taken back since.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ledger.log.entries import StoredCheckpoint

_FORM = 0o644


@dataclass(frozen=True, slots=True)
class Published:
    """A checkpoint as it was published."""

    size: int
    note: str


class CheckpointFile:
    """The file of one log in a folder. Raises OSError where the folder cannot be written or read."""

    def __init__(self, folder: Path, log_id: str) -> None:
        """``folder`` is made where it is missing."""
        self.path = folder / f"{log_id}.jsonl"
        self._last: Published | None = None

    def last(self) -> Published | None:
        """The last checkpoint that was published whole; None where there is none."""
        if self._last is None:
            for published in self._lines():
                self._last = published
        return self._last

    def append(self, checkpoint: StoredCheckpoint) -> None:
        """Publish a checkpoint; it is on the disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        told = {"at": checkpoint.at.isoformat(), "note": checkpoint.note, "size": checkpoint.size}
        line = json.dumps(told, ensure_ascii=False, sort_keys=True) + "\n"
        new = not self.path.exists()
        with self.path.open("ab+") as file:
            os.fchmod(file.fileno(), _FORM)
            # A line that was torn by a crash stays as it is, and stays alone.
            file.write(b"\n" if self._torn(file.fileno()) else b"")
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        if new:
            _sync_folder(self.path.parent)
        self._last = Published(checkpoint.size, checkpoint.note)

    @staticmethod
    def _torn(descriptor: int) -> bool:
        size = os.fstat(descriptor).st_size
        return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"

    def _lines(self) -> Iterator[Published]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    told = json.loads(line)
                    yield Published(int(told["size"]), str(told["note"]))
                except (ValueError, TypeError, KeyError):
                    continue


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
