"""A wire between a sink and a gateway that can be cut after the question and before the answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


class Wire:
    """Passes bytes on. ``lose``: answers to lose, each with its connection. ``held``: while set, no answer passes."""

    def __init__(self, listener: socket.socket, target: tuple[str, int]) -> None:
        self._listener = listener
        self._target = target
        self._lock = threading.Lock()
        self._passing = threading.Event()
        self._passing.set()
        self.lose = 0
        self.lost = 0

    def hold(self) -> None:
        self._passing.clear()

    def let_pass(self) -> None:
        self._passing.set()

    def serve(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed when the test ends
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                for source, sink, answers in ((near, far, False), (far, near, True)):
                    threading.Thread(target=self._pass, args=(source, sink, answers), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if answers:
                    self._passing.wait(20)
                    if self._loses():
                        break
                sink.sendall(piece)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            if answers:
                end.close()

    def _loses(self) -> bool:
        with self._lock:
            if self.lose == 0:
                return False
            self.lose -= 1
            self.lost += 1
            return True


@contextmanager
def wire_to(url: str) -> Iterator[tuple[Wire, str]]:
    """A wire to ``url``, and the URL at its near end."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    with socket.create_server(("127.0.0.1", 0)) as listener:
        wire = Wire(listener, (parts.hostname, parts.port))
        threading.Thread(target=wire.serve, daemon=True).start()
        yield wire, f"http://127.0.0.1:{listener.getsockname()[1]}"
        wire.let_pass()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
