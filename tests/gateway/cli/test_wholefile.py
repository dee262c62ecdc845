"""What a command writes is there as a whole, or nothing has changed; and what is no file is not replaced by one."""

import os
import threading
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
