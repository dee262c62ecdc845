"""A real HTTP tool server in a thread, which answers as it is told and remembers what it received."""

import contextlib
import json
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self, TypeVar


@dataclass(frozen=True)
class Received:
    path: str
    method: str
    headers: dict[str, str]
    body: bytes
    connection: int


class Exchange:
    """One request at the server, for a behaviour to answer."""

    def __init__(self, handler: BaseHTTPRequestHandler, received: Received) -> None:
        self.handler = handler
        self.received = received

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.handler.send_response(status)
        for name, value in (headers or {}).items():
            self.handler.send_header(name, value)
        self.handler.send_header("Content-Length", str(len(body)))
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def reset(self) -> None:
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.close_connection = True
        self.handler.connection.close()

    def answer_half(self, body: bytes) -> None:
        self.handler.send_response(200)
        self.handler.send_header("Content-Length", str(2 * len(body)))
        self.handler.end_headers()
        self.handler.wfile.write(body)
        self.handler.close_connection = True


Behaviour = Callable[[Exchange], None]
T = TypeVar("T")


def ok(content: object = None) -> Behaviour:
    return lambda exchange: exchange.answer(
        200, json.dumps({"ok": True} if content is None else content).encode()
    )


def status(code: int, body: bytes = b'{"error": "no"}', headers: dict[str, str] | None = None) -> Behaviour:
    return lambda exchange: exchange.answer(code, body, headers)


def reset(exchange: Exchange) -> None:
    exchange.reset()


def half(exchange: Exchange) -> None:
    exchange.answer_half(b'{"ok": tr')


@dataclass
class Held:
    """Holds each request until released, then behaves as ``then``."""

    then: Behaviour = field(default_factory=ok)
    gate: threading.Event = field(default_factory=threading.Event)

    def __call__(self, exchange: Exchange) -> None:
        self.gate.wait(60)
        self.then(exchange)

    def release(self) -> None:
        self.gate.set()


class _Server(ThreadingHTTPServer):
    # All calls of a test may come at once.
    request_queue_size = 256


class ToolServer:
    """``behave(path, first, second, ...)``: the last behaviour is kept. ``received``: every request, in order of arrival."""

    def __init__(self) -> None:
        self._behaviours: dict[str, list[Behaviour]] = defaultdict(lambda: [ok()])
        self._received: list[Received] = []
        self._lock = threading.Lock()
        self._holds: list[Held] = []
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def behave(self, path: str, *behaviours: Behaviour) -> None:
        self._behaviours[path] = list(behaviours)

    def hold(self, path: str, then: Behaviour | None = None) -> Held:
        held = Held(then or ok())
        self._holds.append(held)
        self.behave(path, held)
        return held

    def received(self, path: str | None = None) -> list[Received]:
        with self._lock:
            return [r for r in self._received if path is None or r.path == path]

    def await_received(self, path: str, count: int = 1) -> list[Received]:
        return eventually(lambda: found if len(found := self.received(path)) >= count else None)

    def take(self, received: Received) -> Behaviour:
        with self._lock:
            self._received.append(received)
            script = self._behaviours[received.path]
            return script.pop(0) if len(script) > 1 else script[0]

    def close(self) -> None:
        for held in self._holds:
            held.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


def _handler_of(server: ToolServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received = Received(self.path, self.command, headers, body, self.client_address[1])
            try:
                server.take(received)(Exchange(self, received))
            except OSError:
                self.close_connection = True

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (OSError, ValueError):
                self.close_connection = True

        def finish(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                super().finish()

    return Handler


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(probe: Callable[[], T | None], *, within: float = 20.0) -> T:
    """What ``probe`` answers as soon as that is not None or False. AssertionError after ``within`` seconds."""
    deadline = time.monotonic() + within
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {probe}")
        time.sleep(0.01)
