"""The tool server of the crash tests: it acts by writing a line to its log, and waits for the disk before it answers.

``POST /read|put|write``, arguments ``{"key": ..., "nth": ...}``; or the same tools over MCP at ``/mcp``. A line is either of
these, in the order of the acts::

    {"line": "received", "intent_id", "tool", "key"}
    {"line": "acted", "intent_id", "commit_key", "tool", "key", "nth", "idempotency_key", "count", "replayed"}

``count``: how often the key was changed by then, which is also the answer. ``replayed``: a ``put`` whose idempotency key it
knew, so that nothing changed. How a key begins says how its first transmissions are treated (``MANNERS``).
"""

import contextlib
import json
import os
import random
import signal
import socket
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.crash.mcp_tool import Broken, rpc

SLOW, OVERDUE, RESET, RESETS = "slow", "overdue", "reset", "resets"
"""Answers late but in time; too late; breaks the connection after the act, once, or five times."""

MANNERS = {SLOW: 1, OVERDUE: 1, RESET: 1, RESETS: 5}
"""How many transmissions of an intent are treated so."""

SLOW_SECONDS, OVERDUE_SECONDS = 0.3, 0.6
LONGEST_PAUSE = 0.02
RECEIVED, ACTED, HALF_ANSWERED = "tool_received", "tool_acted", "tool_half_answered"
POINTS = (RECEIVED, ACTED, HALF_ANSWERED)


@dataclass
class World:
    """What the log says; taken up again by whoever serves after a kill."""

    path: Path
    counts: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    puts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        for line in read_log(self.path):
            self._take(line)
        self._file = self.path.open("ab", buffering=0)

    def receive(self, **line: Any) -> int:
        """How often this intent came by now."""
        with self._lock:
            self._write({"line": "received", **line})
            return self.seen[line["intent_id"]]

    def act(self, **line: Any) -> int:
        """Do it once a ``put``'s key, else as often as it is asked for; the key's count."""
        with self._lock:
            key, once = line["key"], line["idempotency_key"]
            replayed = line["tool"] == "put" and once in self.puts
            count = self.counts[key]
            if replayed:
                count = self.puts[once]
            elif line["tool"] != "read":
                count += 1
            self._write({"line": "acted", **line, "count": count, "replayed": replayed})
            return count

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line).encode() + b"\n")
        os.fsync(self._file.fileno())
        self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        if line["line"] == "received":
            self.seen[line["intent_id"]] += 1
        elif line["tool"] != "read" and not line["replayed"]:
            self.counts[line["key"]] = line["count"]
            if line["tool"] == "put":
                self.puts[line["idempotency_key"]] = line["count"]


def read_log(path: Path) -> list[dict[str, Any]]:
    """All whole lines; the last may be cut by a kill."""
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    return [json.loads(line) for line in lines[:-1]]


def serve(log: str, port: int, die_at: str | None = None, seed: int = 0) -> None:
    """Serve until killed. ``die_at``: ``POINT:N``, as COMMITGATE_FAIL_AT."""
    world, death = World(Path(log)), _Death(die_at)
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(world, death, random.Random(seed)))
    server.daemon_threads = True
    print(json.dumps({"listening": f"http://127.0.0.1:{port}"}), flush=True)
    server.serve_forever(0.05)


class _Death:
    def __init__(self, told: str | None) -> None:
        self._point, _, count = (told or "").partition(":")
        self._left = int(count or "1")
        self._lock = threading.Lock()

    def meet(self, point: str) -> None:
        with self._lock:
            self._left -= point == self._point
            if point == self._point and self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class _Acting:
    """Does one call as the manner of its key has it. Raises Broken where the connection is to break after the act."""

    def __init__(self, world: World, death: "_Death", rand: random.Random) -> None:
        self._world = world
        self._death = death
        self._rand = rand

    def __call__(
        self, tool: str, arguments: dict[str, Any], commit_key: str, intent_id: str, once: str | None
    ) -> dict[str, object]:
        key = str(arguments["key"])
        times = self._world.receive(intent_id=intent_id, tool=tool, key=key)
        self._death.meet(RECEIVED)
        time.sleep(self._rand.random() * LONGEST_PAUSE)
        count = self._world.act(
            intent_id=intent_id,
            commit_key=commit_key,
            tool=tool,
            key=key,
            nth=arguments.get("nth"),
            idempotency_key=once,
        )
        self._death.meet(ACTED)
        manner = key.partition("-")[0]
        if times <= MANNERS.get(manner, 0):
            if manner in (RESET, RESETS):
                raise Broken
            time.sleep(SLOW_SECONDS if manner == SLOW else OVERDUE_SECONDS)
        return {"count": count}


def _handler(  # noqa: C901 - a class made in a function
    world: World, death: _Death, rand: random.Random
) -> type[BaseHTTPRequestHandler]:
    busy, act = _Busy(), _Acting(world, death, rand)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with busy:
                message = json.loads(body)
                try:
                    if self.path == "/mcp":
                        self._answer(rpc(message, act))
                    else:
                        tool, sent = self.path.strip("/"), self.headers
                        names = (sent["Commit-Key"], sent["Intent-Id"], sent.get("Idempotency-Key"))
                        self._answer(act(tool, message, *names))
                except Broken:
                    self._reset()

        def do_GET(self) -> None:
            if self.path == "/mcp":
                self.send_error(405)
                return
            busy.wait()
            self._answer({"idle": True})

        def do_DELETE(self) -> None:
            self._answer(None)

        def _answer(self, content: object) -> None:
            body = b"" if content is None else json.dumps(content).encode()
            self.send_response(202 if content is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:3])
            self.wfile.flush()
            death.meet(HALF_ANSWERED)
            self.wfile.write(body[3:])

        def _reset(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def handle(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                super().handle()

        def finish(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                super().finish()

    return Handler


class _Busy:
    """How many calls are in hand."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    def __enter__(self) -> None:
        with self._changed:
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._count == 0)
