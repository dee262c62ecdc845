"""Arguments that cannot be meant end with 2 and a stable code: most of these were a failure of ours, or went unnoticed."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.gateway.sealing.command import Command
from tests.gateway.sealing.story import story
from tests.postgres import TestDatabase

NO_TEXT = "\udcff"
DEEP = base64.urlsafe_b64encode(b"[" * 100_000).decode()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ledger", "rebuild", "--check", "--after", DEEP), "bad_cursor"),
        (("ledger", "rebuild", "--check", "--after", "nonsense"), "bad_cursor"),
        (("ledger", "tail", "--after", "nonsense"), "bad_cursor"),
        (("ledger", "tail", "--after", DEEP), "bad_cursor"),
        (("ledger", "tail", "--all", "--last", "5"), "invalid_request"),
        (("ledger", "tail", "--after", "x", "--all"), "invalid_request"),
        (("ledger", "proof", NO_TEXT, "1"), "bad_usage"),
        (("reconcile", "run", "--commit-key", NO_TEXT), "bad_usage"),
        (("streams", "show", NO_TEXT), "bad_usage"),
    ],
)
def test_an_argument_that_cannot_be_meant(command: Command, arguments: tuple[str, ...], code: str) -> None:
    ended = command(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {code}: ")


@pytest.mark.parametrize(
    ("tenant", "code"), [("", "unknown_tenant"), ("nobody", "unknown_tenant"), (NO_TEXT, "bad_usage")]
)
def test_an_export_of_a_tenant_that_has_nothing_was_a_file_of_hashes(
    command: Command, database: TestDatabase, tmp_path: Path, tenant: str, code: str
) -> None:
    with story(database) as told:
        told.write("one", "a")
    file = tmp_path / "log.export"
    ended = command("ledger", "export", file, "--tenant", tenant)
    assert (ended.code, file.exists()) == (2, False)
    assert ended.err.splitlines()[-1].startswith(f"error: {code}: ")
    assert command("ledger", "export", file, "--tenant", "default").code == 0


def test_a_disk_that_is_full_has_a_code_of_its_own(command: Command, database: TestDatabase) -> None:
    with story(database) as told:
        told.write("one", "a")
    ended = command("ledger", "export", "/dev/full")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-1].startswith("error: disk_full: ")


def test_an_export_may_have_the_longest_name_and_no_longer_one(
    command: Command, database: TestDatabase, tmp_path: Path
) -> None:
    with story(database) as told:
        told.write("one", "a")
    assert command("ledger", "export", tmp_path / ("x" * 255)).code == 0
    assert [len(file.name) for file in tmp_path.iterdir() if file.is_file()] == [255]
    ended = command("ledger", "export", tmp_path / ("x" * 256))
    assert (ended.code, ended.err.splitlines()[-1].partition(": ")[2][:16]) == (2, "file_not_usable:")


def test_a_file_where_the_folder_of_checkpoints_should_be(
    command: Command, database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with story(database) as told:
        told.write("one", "a")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COMMITGATE_CHECKPOINTS", str(tmp_path / "file"))
    ended = command("ledger", "checkpoint", "--sign")
    assert (ended.code, ended.err.startswith("error: file_not_usable: ")) == (2, True)
