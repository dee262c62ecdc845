"""What a command writes is there as a whole, or nothing has changed; and what is no file is not replaced by one."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.cli.wholefile import written_whole


def fail_half_way(target: Path) -> None:
    def write() -> None:
        with written_whole(target) as out:
            out.write(b"half")
            raise OSError("half way")

    with pytest.raises(OSError, match="half way"):
        write()


def test_a_file_is_replaced_once_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"before")
    with written_whole(target) as out:
        out.write(b"after")
        out.flush()
        assert target.read_bytes() == b"before"
    assert (target.read_bytes(), list(tmp_path.iterdir())) == (b"after", [target])
    fail_half_way(target)
    assert (target.read_bytes(), list(tmp_path.iterdir())) == (b"after", [target])


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "out", tmp_path / "link"
    target.write_bytes(b"before")
    link.symlink_to("out")
    with written_whole(link) as out:
        out.write(b"after")
    assert (link.is_symlink(), target.read_bytes()) == (True, b"after")


def test_a_device_was_once_replaced_by_a_file(tmp_path: Path) -> None:
    """An export to /dev/null, by root, took /dev/null away."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    fail_half_way(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with written_whole(pipe) as out:
        out.write(b"all of it")
    reader.join(10)
    assert (read, pipe.is_fifo(), list(tmp_path.iterdir())) == ([b"all of it"], True, [pipe])


WRITES = """
import sys
from pathlib import Path
from gateway.cli.wholefile import written_whole
with written_whole(Path(sys.argv[1])) as out:
    out.write(b"of another process")
    out.flush()
    print("half", flush=True)
    sys.stdin.read()
"""


@contextmanager
def writer(target: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is half way through."""
    command = [sys.executable, "-c", WRITES, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == b"half\n"
            yield running
        finally:
            running.kill()


def unfinished(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir() if place.name.endswith(".part"))


def write(target: Path, what: bytes = b"after") -> None:
    with written_whole(target) as out:
        out.write(what)


def test_what_a_killed_process_left_stayed_for_ever(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with writer(target) as running:
        running.kill()
        running.wait()
    assert unfinished(tmp_path) == [f".out.{running.pid}.part"]
    # Numbers of processes come again.
    (tmp_path / f".out.{os.getpid()}.part").write_bytes(b"half")
    write(target)
    assert (target.read_bytes(), list(tmp_path.iterdir())) == (b"after", [target])


def test_what_somebody_writes_still_stays(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with writer(target) as running:
        write(target)
        assert unfinished(tmp_path) == [f".out.{running.pid}.part"]
        running.communicate(timeout=10)
        assert running.returncode == 0
    assert (target.read_bytes(), list(tmp_path.iterdir())) == (b"of another process", [target])


def test_what_is_not_left_of_the_same_file_stays(tmp_path: Path) -> None:
    others = [".out.2.1.part", ".out.x.part", ".other.1.part", "out.1.part", ".out.1.part.txt"]
    for name in others:
        (tmp_path / name).write_bytes(b"other")
    os.mkfifo(tmp_path / ".out.7.part")
    (tmp_path / ".out.8.part").symlink_to(".other.1.part")
    write(tmp_path / "out")
    kept = [*others, ".out.7.part", ".out.8.part", "out"]
    assert sorted(place.name for place in tmp_path.iterdir()) == sorted(kept)


def test_a_file_system_without_locks_let_nothing_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_about: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr("gateway.cli.wholefile.fcntl.flock", refused)
    (tmp_path / ".out.1.part").write_bytes(b"perhaps of somebody who writes")
    write(tmp_path / "out")
    assert sorted(place.name for place in tmp_path.iterdir()) == [".out.1.part", "out"]
