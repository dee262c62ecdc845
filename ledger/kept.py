"""Checkpoints that were kept outside of the database (``ledger.log.published``), in the order of the verifier: by size.

Several processes take turns in publishing, so one may come a moment late. Only places are kept in memory, not notes.
"""

import json
from collections.abc import Iterator
from pathlib import Path


def kept_notes(place: Path) -> Iterator[str]:
    """The notes in a file, or in all files ``*.jsonl`` of a folder, smallest tree first.

    The files are looked through now, the notes read when asked for; what is published meanwhile is left out. A line that
    was torn by a crash is passed over. Raises OSError.
    """
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    places = sorted((size, number, at) for number, file in enumerate(files) for size, at in _places(file))
    return _read(files, places)


def _read(files: list[Path], places: list[tuple[int, int, int]]) -> Iterator[str]:
    for _, number, at in places:
        with files[number].open("rb") as file:
            file.seek(at)
            yield str(json.loads(file.readline())["note"])


def _places(file: Path) -> Iterator[tuple[int, int]]:
    at = 0
    with file.open("rb") as opened:
        for line in opened:
            size = _size(line)
            if size is not None:
                yield size, at
            at += len(line)


def _size(line: bytes) -> int | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None
    if not isinstance(told, dict) or not isinstance(told.get("note"), str):
        return None
    size = told.get("size")
    return size if isinstance(size, int) else None
