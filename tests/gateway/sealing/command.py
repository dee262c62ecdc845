"""The command line within the test's own process: what it printed, and how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from gateway.cli import main


@dataclass(frozen=True)
class Ended:
    code: int | str | None
    out: str
    err: str

    @property
    def told(self) -> dict[str, Any]:
        """The one JSON object that was printed."""
        return dict(json.loads(self.out))


class Command:
    """Runs ``commitgate`` with the environment of the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Ended:
        self._capsys.readouterr()
        self._monkeypatch.setattr("sys.argv", ["commitgate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main.run()
        told = self._capsys.readouterr()
        return Ended(ended.value.code, told.out, told.err)
