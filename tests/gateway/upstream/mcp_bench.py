"""The MCP peer as a bench for the suite."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from effects.classes import EffectClass
from effects.upstream import Server, Upstream
from gateway.turn.dispatching import Assignment
from tests.gateway.toolserver import eventually, free_port
from tests.gateway.upstream.calls import assignment
from tests.gateway.upstream.folder_bench import FolderBench

TOOL: dict[str, Any] = {
    "name": "tool",
    "description": "Does what it is told.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "destructiveHint": False},
}


PEER = str(Path(__file__).with_name("mcp_peer.py"))
NURSERY = str(Path(__file__).with_name("mcp_nursery.py"))


@cache
def nursery() -> str:
    """The socket of a nursery of this process, which ends with it."""
    place = str(Path(tempfile.mkdtemp(prefix="peers-")) / "nursery")
    running = subprocess.Popen(
        [sys.executable, NURSERY, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    running.stdout.readline()
    atexit.register(_let_go, running, place)
    return place


def _let_go(running: subprocess.Popen[bytes], place: str) -> None:
    running.communicate()
    shutil.rmtree(Path(place).parent, ignore_errors=True)


class McpBench(FolderBench):
    """``wire``: ``stdio`` (the adapter starts it) or ``http``. ``legacy``: it speaks the older protocol only."""

    def __init__(self, folder: Path, wire: str, *, legacy: bool = False) -> None:
        super().__init__(folder)
        self._wire = wire
        self._process: subprocess.Popen[bytes] | None = None
        self._dies = False
        self._port = free_port() if wire == "http" else None
        arguments = [str(folder), wire, *(["legacy"] if legacy else [])]
        self.command = [sys.executable, "-ISE", NURSERY, nursery(), PEER, *arguments]
        self.offers(TOOL)
        self.does("answer", content={})

    @property
    def server(self) -> Server:
        if self._port is None:
            return Server(command=tuple(self.command))
        self.start()
        return Server(url=f"http://127.0.0.1:{self._port}/mcp")

    def start(self) -> None:
        """Start the HTTP peer, unless it runs."""
        if self._process is not None and self._process.poll() is None:
            return
        (self.folder / "port").unlink(missing_ok=True)
        environment = os.environ | {"PEER_PORT": str(self._port)}
        self._process = subprocess.Popen(self.command, env=environment)
        eventually((self.folder / "port").exists)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def renew(self) -> None:
        """As if nothing had come yet."""
        super().renew()
        self.offers(TOOL)

    def call(self, effect: EffectClass = EffectClass.WRITE, **told: Any) -> Assignment:
        told.setdefault("server", self.server)
        told.setdefault("upstream", Upstream(mcp="peer"))
        return assignment(effect=effect, **told)

    def unreachable(self, effect: EffectClass) -> Assignment:
        nobody = Server(url=f"http://127.0.0.1:{free_port()}/mcp")
        if self._port is None:
            nobody = Server(command=("/no/such/server",))
        return assignment(effect=effect, server=nobody, upstream=Upstream(mcp="nobody"))

    def offers(self, *tools: dict[str, Any]) -> None:
        self.write("tools.json", list(tools))

    def does(self, act: str, **told: object) -> None:
        if self._dies and self._process is not None:
            # Its connection breaks a moment before it ends; what looks alive until then would answer nobody.
            self._process.wait(timeout=10)
        self._dies = act == "die"
        super().does(act, **told)

    def does_fail_in_protocol(self) -> None:
        self.does("protocol", code=-32602)

    def said(self, content: object) -> object:
        assert isinstance(content, dict)
        return content["structuredContent"]["said"]

    def carried(self) -> dict[str, str | None]:
        meta = self.log()[-1]["message"]["params"]["_meta"]
        names = ("commit_key", "intent_id", "idempotency_key")
        return {name: meta.get(f"commitgate/{name}") for name in names} | {"traceparent": meta["traceparent"]}
