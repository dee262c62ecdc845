"""Checkpoints that were kept outside of the database, in the order of the verifier: by size.

Three forms are read: what is published (``ledger.log.published``), a line of JSON each; what ``ledger checkpoint`` and
``GET /v1/ledger/checkpoint`` answer, JSON with the note as ``checkpoint``, one or several of them; and a C2SP signed note
as it is. Anything else is refused and not passed over, for whoever names what was kept relies on it.

Several processes take turns in publishing, so one may come a moment late. Only places are kept in memory, not notes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ledger.errors import EvidenceRefused, KeptRefused
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import body_of

LARGEST = 1 << 20
"""Bytes at most of a line, and of a file that is one checkpoint."""

_PUBLISHED = b'{"at": "'
_MEMBERS = ("note", "checkpoint")


class Place(NamedTuple):
    """Where a checkpoint of ``size`` events stands: ``length`` bytes from ``at`` in the file with this number."""

    size: int
    number: int
    at: int
    length: int


def kept_notes(place: Path, origin: str, *, needed: bool = True) -> Iterator[str]:
    """The notes in a file, or in all files of a folder (hidden ones apart), smallest tree first.

    ``origin``: names the log. A folder may hold checkpoints of several, and those of others are left out; a file is of one.

    The files are looked through now, the notes read when asked for; what is published meanwhile is left out. A published
    line that was torn by a crash is passed over. ``needed``: there has to be one. Raises OSError; the first that is asked for
    raises KeptRefused where something is no checkpoint.
    """
    files = sorted(file for file in place.iterdir() if file.name[:1] != ".") if place.is_dir() else [place]
    wanted = origin if place.is_dir() else None
    try:
        found = (each for number, file in enumerate(files) for each in _places(number, file))
        places = sorted(place for name, place in found if wanted in (None, name))
        if needed and not places:
            raise KeptRefused(f"there is no checkpoint{f' of {wanted}' if wanted else ''} in {place}")
    except KeptRefused as error:
        return _refused(error)
    return _read(files, places)


def _refused(error: KeptRefused) -> Iterator[str]:
    raise error
    yield


def _read(files: list[Path], places: list[Place]) -> Iterator[str]:
    for place in places:
        with files[place.number].open("rb") as file:
            file.seek(place.at)
            note = _note(file.read(place.length))
        if note is None:
            raise KeptRefused(f"{files[place.number]} was changed while it was read")
        yield note


def _places(number: int, file: Path) -> Iterator[tuple[str, Place]]:
    """Each with the origin that it names."""
    if not file.is_file():
        raise KeptRefused(f"{file} is no file of checkpoints")
    with file.open("rb") as opened:
        whole = opened.read(LARGEST)
        told = _told(whole)
        if told is not None:
            yield told.origin, Place(told.size, number, 0, len(whole))
            return
        opened.seek(0)
        yield from _lines(number, file, opened)


def _lines(number: int, file: Path, opened: BinaryIO) -> Iterator[tuple[str, Place]]:
    at = count = 0
    while line := opened.readline(LARGEST):
        count += 1
        told = _told(line) if line.lstrip()[:1] == b"{" else None
        if told is not None:
            yield told.origin, Place(told.size, number, at, len(line))
        elif line.strip() and not _is_torn(line):
            raise KeptRefused(f"line {count} of {file} holds no checkpoint, nor is the file one")
        at += len(line)


def _is_torn(line: bytes) -> bool:
    """Whether a crash left it so: a published line begins like this and is not whole."""
    text = line.rstrip(b"\n")
    if text[: len(_PUBLISHED)] != _PUBLISHED[: len(text)]:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return True
    return False


def _told(text: bytes) -> Checkpoint | None:
    """What a checkpoint says, unchecked; None where it is none."""
    note = _note(text)
    try:
        return None if note is None else Checkpoint.parse(body_of(note))
    except EvidenceRefused:
        return None


def _note(text: bytes) -> str | None:
    try:
        if text.lstrip()[:1] != b"{":
            return text.decode()
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    notes = (told.get(name) for name in _MEMBERS)
    return next((note for note in notes if isinstance(note, str)), None)
