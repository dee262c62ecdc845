"""The MCP peer as a bench for the suite."""

import atexit
import json
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


class McpBench:
    """``wire``: ``stdio`` (the adapter starts it) or ``http``. ``legacy``: it speaks the older protocol only."""

    def __init__(self, folder: Path, wire: str, *, legacy: bool = False) -> None:
        self.folder = folder
        self._wire = wire
        self._process: subprocess.Popen[bytes] | None = None
        self._port = free_port() if wire == "http" else None
        arguments = [str(folder), wire, *(["legacy"] if legacy else [])]
        self.command = [sys.executable, "-ISE", NURSERY, nursery(), PEER, *arguments]
        self.offers(TOOL)
        self._does("answer", content={})

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
        for name in ("received.jsonl", "finished.jsonl", "release"):
            (self.folder / name).unlink(missing_ok=True)
        self.offers(TOOL)
        self._does("answer", content={})

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
        self._write("tools.json", list(tools))

    def does_answer(self, content: object) -> None:
        self._does("answer", content=content)

    def does_echo(self) -> None:
        self._does("echo")

    def does_refuse(self, content: object) -> None:
        self._does("refuse", content=content)

    def does_answer_bytes(self, count: int) -> None:
        self._does("huge", bytes=count)

    def does_answer_nonsense(self) -> None:
        self._does("nonsense")

    def does_hold(self, content: object) -> None:
        (self.folder / "release").unlink(missing_ok=True)
        self._does("hold", content=content)

    def does_fail_in_protocol(self) -> None:
        self._does("protocol", code=-32602)

    def does_die(self) -> None:
        self._does("die")

    def does(self, act: str, **told: object) -> None:
        self._does(act, **told)

    def release(self) -> None:
        (self.folder / "release").touch()

    def said(self, content: object) -> object:
        assert isinstance(content, dict)
        return content["structuredContent"]["said"]

    def received(self) -> list[bytes]:
        return [line["raw"].encode() for line in self.log()]

    def log(self) -> list[dict[str, Any]]:
        return _lines(self.folder / "received.jsonl")

    def finished(self) -> list[object]:
        return [line["arguments"] for line in _lines(self.folder / "finished.jsonl")]

    def carried(self) -> dict[str, str | None]:
        meta = self.log()[-1]["message"]["params"]["_meta"]
        names = ("commit_key", "intent_id", "idempotency_key")
        return {name: meta.get(f"commitgate/{name}") for name in names} | {"traceparent": meta["traceparent"]}

    def _does(self, act: str, **told: object) -> None:
        self._write("behaviour.json", {"do": act, **told})

    def _write(self, name: str, value: object) -> None:
        (self.folder / "new").write_text(json.dumps(value))
        (self.folder / "new").rename(self.folder / name)


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
