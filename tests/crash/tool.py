"""The tool server of the crash tests: ``POST /read|put|write``, or the same tools over MCP at ``/mcp`` (tests/crash/world.py)."""

import contextlib
import json
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.crash.mcp_tool import is_call, rpc
from tests.crash.world import HALF_ANSWERED, Acting, Broken, World


def serve(folder: str, port: int) -> None:
    """Serve until killed."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(World(Path(folder))))
    server.daemon_threads = True
    print(json.dumps({"listening": f"http://127.0.0.1:{port}"}), flush=True)
    server.serve_forever(0.05)


def _handler(world: World) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - a class made in a function
    busy, act = _Busy(), Acting(world)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with busy:
                message = json.loads(body)
                try:
                    if self.path == "/mcp":
                        self._answer(rpc(message, act), of_call=is_call(message))
                    else:
                        tool, sent = self.path.strip("/"), self.headers
                        names = (sent["Commit-Key"], sent["Intent-Id"], sent.get("Idempotency-Key"))
                        self._answer(act(tool, message, *names), of_call=True)
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

        def _answer(self, content: object, *, of_call: bool = False) -> None:
            body = b"" if content is None else json.dumps(content).encode()
            self.send_response(202 if content is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:3])
            self.wfile.flush()
            if of_call:
                world.meet(HALF_ANSWERED)
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
