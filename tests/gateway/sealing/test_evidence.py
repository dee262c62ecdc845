"""Export, proof and verification from the command line; a file is verified without any database."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ledger.log.sealer import Sealer
from tests.gateway.sealing.command import Command
from tests.gateway.sealing.story import story, tamper
from tests.postgres import TestDatabase
from tests.processes import ROOT, commitgate

FLIPPED = 7


@pytest.fixture
def written(database: TestDatabase) -> int:
    """Six streams of two tenants; the number of their events."""
    with story(database) as told:
        for number in range(6):
            texts = [f"{number} says {text}" for text in ("one\u2028", "two\ttabs", "drei äöü")]
            told.write(f"turn-{number}", *texts, tenant="default" if number % 2 else "other")
    return 6 * 4


def _offline(*arguments: object) -> tuple[int, dict[str, object]]:
    """A process of its own that could reach no database and finds no home."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("COMMITGATE_")},
        "COMMITGATE_DATABASE_URL": "not even a URL",
        "COMMITGATE_HOME": "/proc/nothing",
        "COMMITGATE_POOL_SIZE": "not a setting either",
    }
    command = [*commitgate("ledger", "verify"), *map(str, arguments)]
    ended = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in ended.stderr
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}


def test_an_export_is_verified_offline_and_a_flipped_byte_is_found(
    written: int, command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "log.export"
    told = command("ledger", "export", file)
    assert (told.code, told.told["events"]) == (0, written), told.err
    key = command("ledger", "key").out.strip()
    code, report = _offline(file, "--key", key)
    assert code == 0
    assert (report["ok"], report["events"], report["vouched"]) == (True, written, written)

    lines = file.read_bytes().split(b"\n")
    place = next(n for n, line in enumerate(lines) if line.startswith(b"%d\t" % FLIPPED))
    line = bytearray(lines[place])
    line[line.index(b"says")] ^= 1
    file.write_bytes(b"\n".join([*lines[:place], bytes(line), *lines[place + 1 :]]))
    code, report = _offline(file, "--key", key)
    assert code == 3
    fault = report["fault"]
    assert isinstance(fault, dict)
    assert (fault["code"], fault["index"], fault["until"]) == ("payload_digest_wrong", FLIPPED, FLIPPED + 1)


def test_a_tenants_export_shows_nothing_of_others(written: int, command: Command, tmp_path: Path) -> None:
    file = tmp_path / "log.export"
    assert command("ledger", "export", file, "--tenant", "other").code == 0
    text = file.read_text(encoding="utf-8")
    assert text.count("0 says") == 3
    assert "1 says" not in text
    ended = command("ledger", "verify", file, "--key", command("ledger", "key").out.strip())
    assert ended.code == 0
    assert (ended.told["tenant"], ended.told["hashes_only"]) == ("other", written // 2)


def test_a_failed_export_leaves_the_file_as_it_was(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.export"
    file.write_text("before")
    monkeypatch.setenv("COMMITGATE_LEDGER_KEY", str(tmp_path / "log.export"))
    ended = command("ledger", "export", file)
    assert ended.code == 1
    assert ended.err.startswith("error: ledger_key_refused: ")
    assert file.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".part")] == []


def test_checkpoints_kept_outside_bind_an_export(
    written: int, command: Command, tmp_path: Path, database: TestDatabase
) -> None:
    older, newer = tmp_path / "older", tmp_path / "newer"
    assert command("ledger", "export", older).code == 0
    with story(database) as told:
        told.write("later", "more")
    assert command("ledger", "export", newer).code == 0
    kept, key = tmp_path / "home" / "checkpoints", command("ledger", "key").out.strip()
    verify = ("ledger", "verify", "--key", key, "--checkpoints", kept)
    assert command(*verify, newer).code == 0
    ended = command(*verify, older)
    assert ended.code == 3
    assert ended.told["fault"]["code"] == "kept_beyond_end"
    assert ended.told["fault"]["index"] == written


def test_a_proof_stands_by_itself(written: int, command: Command, tmp_path: Path) -> None:
    ended = command("ledger", "proof", "turn-1", 2)
    assert (ended.code, ended.err.startswith("error: not_sealed: ")) == (1, True)
    assert command("ledger", "checkpoint", "--sign").told["size"] == written
    proof = command("ledger", "proof", "turn-1", 2)
    assert proof.code == 0
    file, key = tmp_path / "proof.json", tmp_path / "home" / "ledger.pub"
    file.write_text(json.dumps(proof.told, indent=2))
    code, told = _offline(file, "--key", key)
    assert (code, told["ok"], told["index"]) == (0, True, proof.told["index"])
    verify = ("ledger", "verify", file, "--key", key)
    assert "1 says one" in proof.told["payload"]
    for name, value in {
        "payload": proof.told["payload"].replace("says", "said"),
        "envelope": proof.told["envelope"].replace('"seq":2', '"seq":3'),
        "index": proof.told["index"] + 1,
        "size": written - 1,
        "path": proof.told["path"][:-1],
        "salt": "00",
        "checkpoint": proof.told["checkpoint"].replace("\n24\n", "\n25\n"),
        "format": "commitgate-ledger-proof/2",
    }.items():
        file.write_text(json.dumps({**proof.told, name: value}))
        ended = command(*verify)
        assert ended.code == 3, name
        assert not ended.told["ok"]


def test_the_database_is_held_against_its_tree_and_what_was_signed(
    written: int, command: Command, database: TestDatabase
) -> None:
    assert command("ledger", "verify").code == 1  # nothing is signed yet
    command("ledger", "checkpoint", "--sign")
    ended = command("ledger", "verify")
    assert (ended.code, ended.told["sealed"]) == (0, written)
    changed = tamper(
        database,
        "update ledger.events set payload = replace(payload, 'says', 'said') where commit_key = %s and seq = 3",
        "turn-3",
    )
    assert changed == 1
    index = _index(command, "turn-3", 3)
    ended = command("ledger", "verify")
    assert ended.code == 3
    assert (ended.told["fault"]["code"], ended.told["fault"]["index"]) == ("payload_digest_wrong", index)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("update ledger.events set attempt = 9 where commit_key = 'turn-3' and seq = 3", "leaf_hash_wrong"),
        ("delete from ledger.events where commit_key = 'turn-3' and seq = 3", "content_missing"),
        (
            "update ledger.tiles set hashes = overlay(hashes placing '\\x00'::bytea from 1) where level = 0",
            None,
        ),
        (
            "update ledger.checkpoints set note = replace(note, chr(10) || '24' || chr(10), chr(10) || '23' || chr(10))",
            "checkpoint_malformed",
        ),
        (
            "update ledger.checkpoints set note = replace(note, chr(8212) || ' ', chr(8212) || ' x')",
            "signature_wrong",
        ),
    ],
)
def test_every_kind_of_tampering_is_found(
    written: int, command: Command, database: TestDatabase, statement: str, code: str | None
) -> None:
    command("ledger", "checkpoint", "--sign")
    assert tamper(database, statement) == 1
    ended = command("ledger", "verify")
    assert ended.code == 3
    assert code is None or ended.told["fault"]["code"] == code


def test_a_log_that_was_taken_back_contradicts_what_was_published(
    written: int, command: Command, database: TestDatabase
) -> None:
    command("ledger", "checkpoint", "--sign")
    with story(database) as told:
        told.write("later", "more")
    command("ledger", "checkpoint", "--sign")
    tamper(database, "delete from ledger.checkpoints where size > %s", written)
    ended = command("ledger", "verify")
    assert ended.code == 3
    assert ended.told["fault"]["code"] == "kept_beyond_end"


def test_what_is_sealed_and_not_signed_yet_is_checked_too(
    written: int, command: Command, database: TestDatabase
) -> None:
    command("ledger", "checkpoint", "--sign")
    with story(database) as told:
        told.write("later", "more")
        Sealer(told.engine, lease_seconds=0).round()
    assert command("ledger", "verify").told["sealed"] == written + 2
    tamper(database, "update ledger.events set payload = '{}' where commit_key = 'later' and seq = 2")
    ended = command("ledger", "verify")
    assert ended.code == 3
    assert (ended.told["fault"]["code"], ended.told["fault"]["index"]) == (
        "payload_digest_wrong",
        written + 1,
    )


def test_events_that_were_hidden_from_sealing_are_found(
    written: int, command: Command, database: TestDatabase
) -> None:
    """A service may write the mark of a stream: without it no round, no metric and no verification saw the events."""
    command("ledger", "checkpoint", "--sign")
    with story(database) as told:
        told.write("later", "more")
        told.write("waits", "more")
        assert command("ledger", "verify").code == 0, "what waits to be sealed is not wrong"
        with told.engine.begin() as connection:
            hide = "update ledger.streams set unsealed = false where commit_key = 'later'"
            connection.exec_driver_sql(hide)
        assert Sealer(told.engine, lease_seconds=0).round().events == 2
        ended = command("ledger", "verify")
        assert ended.code == 3
        assert ended.told["fault"]["code"] == "never_sealed"
        assert command("ledger", "rebuild").code == 0
        assert Sealer(told.engine, lease_seconds=0).round().events == 2
    assert command("ledger", "verify").code == 0


def test_events_that_were_given_a_place_beyond_the_log_are_found(
    written: int, command: Command, database: TestDatabase
) -> None:
    """They counted as sealed, so that nothing waited, and stood where no reader of the log comes by."""
    command("ledger", "checkpoint", "--sign")
    with story(database) as told:
        told.write("later", "more")
    place = "select shard, tenant, commit_key, 1, 2, 8000000000000000000 from ledger.streams where commit_key = 'later'"
    assert tamper(database, f"insert into ledger.seals {place}") == 1
    ended = command("ledger", "verify")
    assert ended.code == 3
    fault = ended.told["fault"]
    assert (fault["code"], "beyond the log's end" in fault["message"]) == ("never_sealed", True)


def test_bad_usage(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no export")
    assert command("ledger", "verify", file).code == 2
    assert command("ledger", "verify", file, "--key", "no key").code == 2
    assert command("ledger", "verify", tmp_path / "none", "--key", "k").code == 2
    assert command("ledger", "tail", "--after", "nonsense").code == 2
    key = command("ledger", "key").out.strip()
    assert command("ledger", "verify", file, "--key", key).code == 3


@pytest.mark.usefixtures("written")
def test_an_event_that_does_not_exist_was_called_not_sealed(command: Command) -> None:
    for place in (("none", 1), ("turn-1", 2**53 - 1)):
        ended = command("ledger", "proof", *place)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error: unknown_event: ")


def test_tail_begins_where_it_is_told_to(written: int, command: Command) -> None:
    command("ledger", "checkpoint", "--sign")
    everything = [json.loads(line) for line in command("ledger", "tail", "--all").out.splitlines()]
    assert [event["commit_key"] for event in everything] == sorted(
        [f"turn-{number}" for number in (1, 3, 5)] * 4
    )
    last = command("ledger", "tail", "-n", 2).out.splitlines()
    assert [json.loads(line) for line in last] == everything[-2:]
    behind = command("ledger", "tail", "--after", everything[4]["cursor"]).out.splitlines()
    assert [json.loads(line) for line in behind] == everything[5:]
    assert command("ledger", "tail", "-n", 0).out == ""
    table = command("ledger", "tail", "-n", 1, "--format", "table").out
    assert "turn-5" in table


def _index(command: Command, key: str, seq: int) -> int:
    lines = command("ledger", "tail", "--all", "--commit-key", key).out.splitlines()
    return next(int(event["index"]) for event in map(json.loads, lines) if event["seq"] == seq)


@pytest.mark.parametrize(
    "spoil",
    [
        "delete from ledger.streams where commit_key = 'later'",
        "update ledger.streams set seq = 1 where commit_key = 'later'",
        "update ledger.streams set seq = 3 where commit_key = 'later'",
    ],
)
def test_events_that_no_row_of_a_stream_counts_are_found(
    written: int, command: Command, database: TestDatabase, spoil: str
) -> None:
    """A writer may INSERT an event without its stream: it was never sealed, and verification said that all was well."""
    command("ledger", "checkpoint", "--sign")
    with story(database) as told:
        told.write("later", "more")
        with told.engine.begin() as connection:
            connection.exec_driver_sql(spoil)
        while Sealer(told.engine, lease_seconds=0).round().events:
            pass
        ended = command("ledger", "verify")
        assert ended.code == 3
        fault = ended.told["fault"]
        assert (fault["code"], "later" in fault["message"]) == ("never_sealed", True)
        assert command("ledger", "rebuild").code == 0
        Sealer(told.engine, lease_seconds=0).round()
    assert command("ledger", "verify").code == 0
