"""A front, a dispatcher and a tool server, for tests that go all the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.http.settings import HttpSettings
from gateway.running import dispatcher_over
from gateway.settings import Settings
from tests.gateway.http.front import BODY_LIMIT, Front, front
from tests.gateway.toolserver import ToolServer
from tests.postgres import TestDatabase


@dataclass
class Desk:
    """A front with a dispatcher behind it, and the tools that it calls."""

    front: Front
    tools: ToolServer

    @property
    def url(self) -> str:
        return self.front.url + "/mcp"

    def apply(self, **tools: dict[str, Any]) -> None:
        """Put these tools in force, each at its own path of the tool server."""
        table = {
            "tools": {
                name: {**entry, "upstream": {"http": f"{self.tools.url}/{name}"}}
                for name, entry in tools.items()
            }
        }
        answer = self.front.client.post("/v1/effects", json=table)
        assert answer.is_success, answer.text


@contextmanager
def open_desk(database: TestDatabase, home: Path) -> Iterator[Desk]:
    settings = HttpSettings(body_limit=BODY_LIMIT, mcp_wait_seconds=2.0)
    with front(database, settings) as running, ToolServer() as tools:
        dispatcher = dispatcher_over(
            running.engine,
            Settings(home=home, wake="poll", poll_seconds=0.02, lease_seconds=5, sweep_seconds=0.2),
        )
        dispatcher.start()
        try:
            yield Desk(running, tools)
        finally:
            dispatcher.stop(0)
