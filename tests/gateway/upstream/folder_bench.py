"""A tool that looks into a folder for what to do, and writes there what came: half a bench for the suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class FolderBench:
    """What benches share whose tool is another process. They add how it is called, and what its answers say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def renew(self) -> None:
        """As if nothing had come yet."""
        for name in ("received.jsonl", "finished.jsonl", "release"):
            (self.folder / name).unlink(missing_ok=True)
        self.does("answer", content={})

    def does(self, act: str, **told: object) -> None:
        self.write("behaviour.json", {"do": act, **told})

    def does_answer(self, content: object) -> None:
        self.does("answer", content=content)

    def does_echo(self) -> None:
        self.does("echo")

    def does_refuse(self, content: object) -> None:
        self.does("refuse", content=content)

    def does_answer_bytes(self, count: int) -> None:
        self.does("huge", bytes=count)

    def does_answer_nonsense(self) -> None:
        self.does("nonsense")

    def does_hold(self, content: object) -> None:
        (self.folder / "release").unlink(missing_ok=True)
        self.does("hold", content=content)

    def does_die(self) -> None:
        self.does("die")

    def release(self) -> None:
        (self.folder / "release").touch()

    def received(self) -> list[bytes]:
        return [line["raw"].encode() for line in self.log()]

    def finished(self) -> list[object]:
        return [line["arguments"] for line in self._lines("finished.jsonl")]

    def log(self) -> list[dict[str, Any]]:
        """What came, as the tool wrote it down."""
        return self._lines("received.jsonl")

    def write(self, name: str, value: object) -> None:
        """Put a file where the tool looks, whole."""
        (self.folder / "new").write_text(json.dumps(value))
        (self.folder / "new").rename(self.folder / name)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        file = self.folder / name
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
