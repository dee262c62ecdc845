"""Checkpoints that were kept: whatever form they are in is read, and what is none is refused, never passed over."""

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from ledger.evidence.note import SigningKey
from ledger.evidence.report import Wrong
from ledger.evidence.verify import verify
from ledger.kept import LARGEST, kept_notes
from tests.ledger.evidence.making import KEY, checkpoint, exported, log

EVENTS = log(Random(3), 30, redacted=0)
LINES = exported(EVENTS)
NOTES = [checkpoint(EVENTS, size) for size in (7, 14, 30)]


def published(note: str) -> str:
    return json.dumps({"at": "2026-07-01T00:00:00+00:00", "note": note, "size": 0}, ensure_ascii=False) + "\n"


def answered(note: str) -> str:
    return json.dumps({"checkpoint": note, "origin": KEY.name}) + "\n"


def refused(place: Path) -> str:
    fault = verify(LINES, KEY.verifier(), kept=kept_notes(place, KEY.name)).fault
    assert fault is not None
    assert fault.code is Wrong.KEPT
    return fault.message


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("".join(map(published, NOTES)), NOTES),
        ("".join(map(published, reversed(NOTES))), NOTES),
        ("".join(map(answered, NOTES)), NOTES),
        (answered(NOTES[0]), NOTES[:1]),
        (json.dumps({"checkpoint": NOTES[1], "size": 14}, indent=2), NOTES[1:2]),
        (NOTES[2], NOTES[2:]),
        (published(NOTES[0]) + published(NOTES[1])[:40], NOTES[:1]),
        (published(NOTES[0])[:40] + "\n" + published(NOTES[1]), NOTES[1:2]),
    ],
    ids=["published", "late", "lines", "answer", "spread out", "note", "torn", "torn before"],
)
def test_other_forms_than_what_is_published_were_passed_over(
    tmp_path: Path, text: str, notes: list[str]
) -> None:
    file = tmp_path / "kept"
    file.write_text(text, encoding="utf-8")
    for place in (file, tmp_path):
        assert list(kept_notes(place, KEY.name)) == notes
        report = verify(LINES, KEY.verifier(), kept=kept_notes(place, KEY.name))
        assert (report.fault, report.kept) == (None, len(notes))
    foreign = exported(log(Random(4), 30, redacted=0))
    assert verify(foreign, KEY.verifier()).ok, "signed by the key itself: nothing else shows it"
    fault = verify(foreign, KEY.verifier(), kept=kept_notes(file, KEY.name)).fault
    assert fault is not None
    assert fault.code is Wrong.KEPT_ROOT


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        Random(5).randbytes(3000),
        b"[" * 100_000,
        b"{" * 100_000,
        b"{}\n",
        b'{"note": "nonsense", "size": 3}\n',
        b"x" * (LARGEST + 1),
        published(NOTES[0]).encode() + b"nonsense\n",
        published(NOTES[0])[:40].encode(),
    ],
)
def test_what_is_no_checkpoint_counted_as_nothing_kept(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "kept"
    file.write_bytes(content)
    assert str(tmp_path) in refused(file)
    assert str(tmp_path) in refused(tmp_path)


def test_an_empty_folder_and_one_within_another_are_refused(tmp_path: Path) -> None:
    assert "no checkpoint" in refused(tmp_path)
    (tmp_path / ".hidden").write_text("nonsense")
    (tmp_path / "one.note").write_text(NOTES[0])
    (tmp_path / "two.json").write_text(answered(NOTES[1]))
    assert list(kept_notes(tmp_path, KEY.name)) == NOTES[:2]
    (tmp_path / "within").mkdir()
    assert "within" in refused(tmp_path)


def test_the_folder_of_several_logs_refused_each_of_them(tmp_path: Path) -> None:
    (tmp_path / "this.jsonl").write_text("".join(map(published, NOTES)), encoding="utf-8")
    other = SigningKey.generate("commitgate/other")
    foreign = published(checkpoint(EVENTS, 9, key=other, origin=other.name))
    (tmp_path / "other.jsonl").write_text(foreign, encoding="utf-8")
    assert list(kept_notes(tmp_path, KEY.name)) == NOTES
    (tmp_path / "this.jsonl").unlink()
    assert "no checkpoint of" in refused(tmp_path)
    assert "did not sign" in refused(tmp_path / "other.jsonl")


def test_nothing_may_be_there_where_nothing_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    file.touch()
    notes: Iterable[str] = kept_notes(file, KEY.name, needed=False)
    assert list(notes) == []
