"""The recording server's log, as tests read it: the truth about what was done."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Entry:
    """One request. ``effect`` None: it has come, and nothing was done about it yet."""

    n: int
    tool: str
    commit_key: str
    intent_id: str
    arguments: str
    effect: bool | None = None

    @property
    def run(self) -> str:
        """The run of a task that it belongs to."""
        return self.commit_key.rpartition("-")[0]


class Log:
    """Reads on from where it last was: ``entries`` in order of arrival, ``effects`` in order of their acts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._by_n: dict[int, Entry] = {}
        self.effects: list[Entry] = []

    @property
    def entries(self) -> list[Entry]:
        return list(self._by_n.values())

    def refresh(self) -> "Log":
        """Read what was added; a line that is being written is left for the next time."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._take(json.loads(line))
        return self

    def happened(self, intent_id: str) -> bool:
        """Whether the call had an effect."""
        return any(entry.intent_id == intent_id for entry in self.effects)

    def _take(self, line: dict[str, Any]) -> None:
        n = int(line["n"])
        if line["line"] == "received":
            told = {name: line[name] for name in ("tool", "commit_key", "intent_id", "arguments")}
            self._by_n[n] = Entry(n, **told)
            return
        entry = self._by_n[n]
        entry.effect = bool(line["effect"])
        if entry.effect:
            self.effects.append(entry)
