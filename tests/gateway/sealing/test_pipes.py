"""An export, a key and checkpoints that come through a pipe, which can be read but once."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from random import Random

import pytest

from tests.gateway.sealing.command import Command
from tests.ledger.evidence.making import KEY, checkpoint, exported, log

EVENTS = log(Random(8), 20, redacted=0)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


def piped(place: Path, content: bytes) -> Path:
    os.mkfifo(place)
    threading.Thread(target=place.write_bytes, args=(content,), daemon=True).start()
    return place


def test_nothing_that_came_through_a_pipe_could_be_read(offline: Command, tmp_path: Path) -> None:
    lines = b"".join(exported(EVENTS))
    for name, content, code in (("good", lines, 0), ("bad", lines[:-10], 3)):
        arguments = (
            piped(tmp_path / name, content),
            *("--key", piped(tmp_path / f"{name}.pub", KEY.verifier().text().encode() + b"\n")),
            *("--checkpoints", piped(tmp_path / f"{name}.note", checkpoint(EVENTS, 7).encode())),
        )
        ended = offline("ledger", "verify", *arguments)
        assert (ended.code, ended.told["kept"]) == (code, 1), ended.err
