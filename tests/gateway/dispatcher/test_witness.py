"""What is kept of a database beside it."""

from datetime import UTC, datetime
from pathlib import Path

from structlog.testing import capture_logs

from gateway.dispatcher.witness import WitnessFile
from ledger.incarnation import Database

SEEN = Database("7/00000001/5", datetime(2025, 1, 1, tzinfo=UTC), 1000)


def test_each_incarnation_is_kept_by_itself(tmp_path: Path) -> None:
    witness = WitnessFile(tmp_path / "databases")
    assert witness.last(SEEN.identity) is None
    other = Database("7/00000002/5", SEEN.started_at, 7)
    witness.keep(SEEN)
    witness.keep(other)
    assert (WitnessFile(tmp_path / "databases").last(SEEN.identity), witness.last(other.identity)) == (
        SEEN,
        other,
    )


def test_a_spoiled_file_is_none(tmp_path: Path) -> None:
    witness = WitnessFile(tmp_path)
    witness.keep(SEEN)
    [path] = tmp_path.iterdir()
    path.write_text('{"identity": 3')
    with capture_logs() as logs:
        assert witness.last(SEEN.identity) is None
    assert [log["event"] for log in logs] == ["witness_not_read"]


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    witness = WitnessFile(place)
    with capture_logs() as logs:
        witness.keep(SEEN)
        witness.keep(SEEN)
    assert [log["event"] for log in logs] == ["witness_not_kept"]


def test_only_the_same_incarnation_goes_back() -> None:
    less = Database(SEEN.identity, SEEN.started_at, 999)
    assert less.went_back(SEEN)
    assert not SEEN.went_back(less)
    assert not Database("7/00000002/5", SEEN.started_at, 1).went_back(SEEN)
