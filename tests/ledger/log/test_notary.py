"""Signing: what is signed is what is sealed, it leaves the database, and a log that was taken back is not signed."""

import json
import stat
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Engine, text

from ledger.errors import KeyRefused, LogForked
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import SigningKey
from ledger.evidence.tree import verify_consistency
from ledger.log.checkpoints import Notary
from ledger.log.entries import StoredCheckpoint
from ledger.log.keys import load_or_make_key
from ledger.log.published import CheckpointFile
from ledger.log.reader import LogReader
from ledger.log.running import Sealing
from ledger.log.sealer import Sealed, Sealer
from tests.ledger.log.planted import TENANT, leaves, naive_root, plant, raw


@pytest.fixture
def notary(engine: Engine, reader: LogReader, tmp_path: Path) -> Notary:
    key = load_or_make_key(tmp_path / "ledger.key", reader.state().origin)
    return Notary(engine, key, tmp_path / "checkpoints")


def grow(engine: Engine, first: int, last: int) -> None:
    with raw(engine) as writer:
        plant(writer, "one", first, last)
        writer.commit()
    assert Sealer(engine, lease_seconds=0.0).round().events == last - first + 1


def opened(folder: Path, note: str) -> Checkpoint:
    from ledger.evidence.note import VerifierKey

    return Checkpoint.parse(VerifierKey.parse((folder / "ledger.pub").read_text()).open(note))


def published(folder: Path) -> list[int]:
    [path] = (folder / "checkpoints").iterdir()
    return [json.loads(line)["size"] for line in path.read_text().splitlines()]


def test_checkpoints_sign_for_the_tree_and_are_published(
    engine: Engine, reader: LogReader, notary: Notary, tmp_path: Path
) -> None:
    roots = {}
    for first, last in ((1, 3), (4, 300), (301, 301)):
        grow(engine, first, last)
        signed = notary.publish()
        told = opened(tmp_path, signed.note)
        assert (told.origin, told.size, told.root) == (
            reader.state().origin,
            last,
            naive_root(leaves(engine)),
        )
        assert reader.checkpoint() == signed
        roots[last] = told.root
    assert [signed.size for signed in reader.checkpoints()] == [3, 300, 301] == published(tmp_path)
    verify_consistency(3, 301, roots[3], roots[301], reader.consistency(3, 301))
    proof = reader.inclusion(TENANT, "one", 150)
    assert (proof.size, proof.checkpoint) == (301, notary.publish().note)


def test_the_same_tree_is_signed_for_once(
    engine: Engine, reader: LogReader, notary: Notary, tmp_path: Path
) -> None:
    grow(engine, 1, 5)
    first = notary.publish()
    again = Notary(
        engine, load_or_make_key(tmp_path / "ledger.key", "else"), tmp_path / "checkpoints"
    ).publish()
    assert again == first
    assert published(tmp_path) == [5]
    assert len(reader.checkpoints()) == 1


def test_a_checkpoint_that_could_not_be_published_is_published_later(
    engine: Engine, notary: Notary, tmp_path: Path
) -> None:
    grow(engine, 1, 5)
    (tmp_path / "checkpoints").write_text("a file is in the way")
    with pytest.raises(OSError, match="checkpoints"):
        notary.publish()
    (tmp_path / "checkpoints").unlink()
    assert notary.publish().size == 5
    assert published(tmp_path) == [5]


def test_a_log_that_was_taken_back_is_not_signed(
    engine: Engine, owner: Engine, notary: Notary, tmp_path: Path
) -> None:
    grow(engine, 1, 5)
    notary.publish()
    tables = "ledger.events, ledger.streams, ledger.seals, ledger.tiles, ledger.checkpoints"
    with owner.begin() as connection:
        # As a restored backup, or an owner who rewrites history: the database does not know of the checkpoint.
        connection.execute(text("set session_replication_role = replica"))
        for table in (*tables.split(", "), "ledger.log"):
            connection.execute(text(f"alter table {table} disable trigger all"))
        connection.execute(text(f"truncate {tables}"))
        connection.execute(text("update ledger.log set size = 0"))
    with pytest.raises(LogForked, match="size 5 in the published file"):
        notary.publish()
    grow(engine, 1, 7)
    with pytest.raises(LogForked, match="size 5 in the published file"):
        Notary(engine, load_or_make_key(tmp_path / "ledger.key", "else"), tmp_path / "checkpoints").publish()
    assert published(tmp_path) == [5]


def test_a_checkpoint_that_somebody_else_stored_is_not_published(
    notary: Notary, engine: Engine, tmp_path: Path
) -> None:
    """It stood in the file for ever, and whoever verified against what was kept took the log for a wrong one."""
    grow(engine, 1, 5)
    stranger = SigningKey.generate(LogReader(engine).state().origin)
    forged = Notary(engine, stranger, None).publish()
    with pytest.raises(KeyRefused, match="5 events is not signed"):
        notary.publish()
    assert not (tmp_path / "checkpoints").exists()
    grow(engine, 6, 7)
    assert notary.publish().size == 7
    assert published(tmp_path) == [7]
    assert forged.size == 5


def test_a_torn_line_of_the_file_stays_alone(tmp_path: Path, engine: Engine) -> None:
    grow(engine, 1, 1)
    signed = Notary(engine, load_or_make_key(tmp_path / "k", "n"), None).publish()
    whole = CheckpointFile(tmp_path, "log")
    assert whole.last() is None
    whole.append(signed)
    with whole.path.open("a") as file:
        file.write('{"size": 9, "no')
    later = StoredCheckpoint(12, signed.note, signed.at)
    again = CheckpointFile(tmp_path, "log")
    last = again.last()
    assert last is not None
    assert last.size == 1
    again.append(later)
    last = CheckpointFile(tmp_path, "log").last()
    assert last is not None
    assert last.size == 12
    assert len(whole.path.read_text().splitlines()) == 3


def test_the_key_is_its_owners_alone_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "home" / "ledger.key"
    key = load_or_make_key(path, "commitgate/x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_make_key(path, "commitgate/else").text() == key.text()
    assert (path.parent / "ledger.pub").read_text().strip() == key.verifier().text()
    assert sorted(file.name for file in path.parent.iterdir()) == ["ledger.key", "ledger.pub"]


@pytest.mark.parametrize("content", [b"", b"no key", b"\xff\xfe"])
def test_a_file_that_is_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ledger.key").write_bytes(content)
    with pytest.raises(KeyRefused):
        load_or_make_key(tmp_path / "ledger.key", "n")
    with pytest.raises(KeyRefused):
        load_or_make_key(tmp_path, "n")


def test_the_thread_seals_and_signs_until_it_is_stopped(
    engine: Engine, reader: LogReader, notary: Notary, tmp_path: Path
) -> None:
    sealed, signed = Event(), Event()

    def on_round(told: Sealed) -> None:
        if told.size == 40:
            (signed if published(tmp_path)[-1:] == [40] else sealed).set()

    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / f"{reader.state().log_id}.jsonl").touch()
    running = Sealing(Sealer(engine), notary, interval=0.01, checkpoint_every=0.0, on_round=on_round)
    running.start()
    with raw(engine) as writer:
        plant(writer, "one", 1, 40)
        writer.commit()
    assert signed.wait(30)
    running.stop()
    running.stop()
    assert running.last is not None
    assert running.last.size == 40
    grown = reader.size()
    with raw(engine) as writer:
        plant(writer, "one", 41, 41)
        writer.commit()
    assert (grown, reader.size()) == (40, 40)


def test_the_thread_goes_on_after_the_database_was_away(engine: Engine, owner: Engine) -> None:
    failed, again = Event(), Event()
    running = Sealing(
        Sealer(engine),
        interval=0.01,
        on_round=lambda told: again.set() if failed.is_set() and told.leading else None,
        on_error=lambda _error: failed.set(),
    )
    with owner.begin() as connection:
        connection.execute(text("alter table ledger.log rename to away"))
    running.start()
    failed.wait(30)
    with owner.begin() as connection:
        connection.execute(text("alter table ledger.away rename to log"))
    assert again.wait(30)
    running.stop()
