"""What is tampered with is told as wrong, with a code and exit 3: no command fails over it, hangs, or offers to sign again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from ledger.log.sealer import Sealer
from tests.gateway.sealing.command import Command
from tests.gateway.sealing.story import story
from tests.postgres import TestDatabase, libpq

TABLES = ("log", "tiles", "checkpoints", "seals", "events", "streams")
OFF = "".join(f"alter table ledger.{table} disable trigger all;" for table in TABLES)
ROLLED_BACK = """
delete from ledger.checkpoints where size > 2; delete from ledger.seals where first_index >= 2;
update ledger.log set size = 2; update ledger.tiles set hashes = substring(hashes from 1 for 64);
delete from ledger.events where commit_key = 'two'; delete from ledger.streams where commit_key = 'two';
"""
WIPED = (
    ROLLED_BACK.replace("where size > 2", "")
    .replace("size = 2", "size = 0")
    .replace("first_index >= 2", "true")
)


@pytest.fixture
def signed(database: TestDatabase, command: Command) -> int:
    """Two streams, a checkpoint after each."""
    with story(database) as told:
        for key in ("one", "two"):
            told.write(key, f"{key} says")
            assert command("ledger", "checkpoint", "--sign").code == 0
    return 4


@contextmanager
def tampered(database: TestDatabase, *statements: str) -> Iterator[None]:
    """The tables as the statements make them, past every trigger; as they were before after the block."""
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as owner:
        owner.execute(OFF)
        for table in TABLES:
            owner.execute(f"create table public.{table} as table ledger.{table}")
        for statement in statements:
            owner.execute(statement)
        yield
        for table in TABLES:
            owner.execute(f"delete from ledger.{table}")
            owner.execute(f"insert into ledger.{table} select * from public.{table}")
            owner.execute(f"drop table public.{table}")


def wrong(command: Command, *arguments: object) -> str:
    ended = command("ledger", "verify", *arguments)
    assert ended.code == 3, ended
    assert not ended.told["ok"]
    assert "--sign" not in ended.err + ended.out
    return str(ended.told["fault"]["code"])


@pytest.mark.usefixtures("signed")
def test_tampering_was_told_as_a_failure_or_hung(
    command: Command, database: TestDatabase, tmp_path: Path
) -> None:
    assert command("ledger", "verify").told["kept"] == 2
    export = ("ledger", "export", tmp_path / "out")
    for statement, code, refused in [
        ("delete from ledger.tiles", "tiles_broken", "log_forked"),
        ("delete from ledger.log", "log_missing", "log_missing"),
        ("update ledger.log set size = size - 1", "truncated", "log_forked"),
        ("update ledger.log set size = size + 5", "tiles_broken", "tiles_broken"),
        ("delete from ledger.checkpoints", "checkpoint_missing", None),
        (WIPED, "checkpoint_missing", "log_forked"),
        (ROLLED_BACK, "kept_beyond_end", "log_forked"),
    ]:
        with tampered(database, statement):
            assert wrong(command) == code
            if refused is not None:
                ended = command(*export)
                assert (ended.code, ended.err.split(": ")[1]) == (1, refused), statement
    assert command("ledger", "verify").code == 0
    assert command(*export).code == 0
    assert [file.name for file in tmp_path.iterdir() if "part" in file.name] == []


@pytest.mark.usefixtures("signed")
def test_an_export_past_the_end_of_the_log_never_ended(
    command: Command, database: TestDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMMITGATE_SEAL", "false")
    with tampered(database, "update ledger.log set size = size - 1"):
        ended = command("ledger", "export", tmp_path / "out")
    assert (ended.code, ended.err.startswith("error: log_forked: ")) == (1, True), ended
    assert [entry.name for entry in tmp_path.iterdir() if "out" in entry.name] == []


@pytest.mark.usefixtures("signed")
def test_nothing_kept_is_signed_over_without_a_word(
    command: Command, database: TestDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMMITGATE_SEAL", "false")
    with tampered(database, WIPED):
        for arguments in (("checkpoint",), ("checkpoint", "--sign"), ("export", tmp_path / "out")):
            ended = command("ledger", *arguments)
            assert (ended.code, ended.err.startswith("error: log_forked: ")) == (1, True), ended
            assert "--sign" not in ended.err


@pytest.mark.usefixtures("signed")
def test_a_log_that_was_taken_back_passed_under_another_name(
    command: Command, database: TestDatabase
) -> None:
    """What was kept was looked up under the name that the database gave."""
    renamed = "update ledger.log set log_id = 'x'"
    with tampered(database, ROLLED_BACK, renamed):
        assert wrong(command) == "origin_wrong"
    with tampered(database, renamed):
        assert wrong(command) == "origin_wrong"


@pytest.mark.usefixtures("signed")
def test_that_nothing_was_compared_is_in_the_report(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("ledger", "verify").told["kept"] == 2
    monkeypatch.setenv("COMMITGATE_CHECKPOINTS", str(tmp_path / "elsewhere"))
    ended = command("ledger", "verify")
    assert (ended.code, ended.told["kept"]) == (0, 0)


@pytest.mark.usefixtures("signed")
def test_a_salt_that_swallowed_the_payload_passed(command: Command, database: TestDatabase) -> None:
    moved = "update ledger.events set salt = salt || convert_to(payload, 'UTF8'), payload = '' where commit_key = {}"
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as owner:
        owner.execute(OFF)
        with pytest.raises(psycopg.errors.CheckViolation):
            owner.execute(moved.format("'one'"))
    unchecked = "alter table ledger.events drop constraint events_salt_length"
    with tampered(database, unchecked, moved.format("'one' and seq = 2")):
        assert wrong(command) == "payload_digest_wrong"
    with story(database) as told:
        told.write("three", "more")
        Sealer(told.engine, lease_seconds=0).round()
    with tampered(database, moved.format("'three' and seq = 2")):
        assert wrong(command) == "payload_digest_wrong"


@pytest.mark.usefixtures("signed")
def test_a_proof_was_held_against_nothing_and_its_payload_could_go(
    command: Command, tmp_path: Path, database: TestDatabase
) -> None:
    told = command("ledger", "proof", "one", 2).told
    file, key, kept = tmp_path / "proof", tmp_path / "home" / "ledger.pub", tmp_path / "home" / "checkpoints"

    def check(document: dict[str, object], *more: object) -> tuple[int | str | None, dict[str, object]]:
        file.write_text(json.dumps(document))
        ended = command("ledger", "verify", file, "--key", key, *more)
        return ended.code, json.loads(ended.out) if ended.out else {}

    code, report = check(told, "--checkpoints", kept)
    assert (code, report["ok"], report["redacted"], report["kept"]) == (0, True, False, 1)
    code, report = check({**told, "payload": None, "salt": None})
    assert (code, report["redacted"]) == (0, True)
    without = {name: value for name, value in told.items() if name not in ("payload", "salt")}
    raw, payload = bytes.fromhex(told["salt"]), str(told["payload"])
    for document in (
        without,
        {**told, "salt": (raw + payload.encode()).hex(), "payload": ""},
        {**told, "salt": (raw + payload[:1].encode()).hex(), "payload": payload[1:]},
    ):
        assert check(document)[0] == 3
    nonsense = tmp_path / "nonsense"
    nonsense.write_text("nonsense")
    assert check(told, "--checkpoints", nonsense)[0] == 3
    older = tmp_path / "older"
    older.write_text(next(kept.glob("*.jsonl")).read_text(encoding="utf-8").splitlines()[0])
    assert check(told, "--checkpoints", older) == (2, {}), "of another size: it says nothing of the proof"


@pytest.mark.usefixtures("signed")
def test_another_key_was_made_where_the_one_that_signed_is_missing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: TestDatabase
) -> None:
    missing = tmp_path / "no" / "such" / "key"
    monkeypatch.setenv("COMMITGATE_LEDGER_KEY", str(missing))
    commands = (("key",), ("verify",), ("checkpoint", "--sign"))
    for nothing_signed in (False, True):
        with tampered(database, *["delete from ledger.checkpoints"] * nothing_signed):
            for arguments in commands:
                ended = command("ledger", *arguments)
                assert (ended.code, ended.err.split(": ")[1]) == (1, "ledger_key_refused"), ended
    assert not missing.parent.exists()
