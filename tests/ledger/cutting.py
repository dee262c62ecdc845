"""A proxy in front of the database that cuts the connection around a COMMIT, as networks do at the worst moment."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from sqlalchemy import URL

COMMIT = b"COMMIT\x00"


class Cut(Enum):
    """What becomes of the next COMMIT that passes."""

    BEFORE = "the server never gets it"
    AFTER = "the server carries it out, the answer is lost"
    LATE_COMMIT = "the client is cut off, the server gets it later"
    LATE_LOSS = "the client is cut off, the server's side breaks later"
    AWAY = "the server never gets it, and answers nobody from then on"


class CuttingProxy:
    """Passes bytes on until armed; ``later`` is waited for before the server's side of a late cut is decided."""

    def __init__(self, upstream: URL) -> None:
        self._upstream = upstream
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._armed: Cut | None = None
        self._open: list[socket.socket] = []
        self.later: Callable[[], None] = lambda: None
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        port = self._listener.getsockname()[1]
        url = self._upstream.set(host="127.0.0.1", port=port).difference_update_query(["host", "port"])
        return url.render_as_string(hide_password=False)

    def arm(self, cut: Cut) -> None:
        self._armed = cut

    def close(self) -> None:
        for one in (self._listener, *self._open):
            _shut(one)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                server = self._dial()
                self._open += [client, server]
                threading.Thread(target=self._upwards, args=(client, server), daemon=True).start()
                threading.Thread(target=_pump, args=(server, client), daemon=True).start()

    def _dial(self) -> socket.socket:
        host = str(self._upstream.query.get("host") or self._upstream.host or "127.0.0.1")
        port = self._upstream.query.get("port") or self._upstream.port or 5432
        if host.startswith("/"):
            unix = socket.socket(socket.AF_UNIX)
            unix.connect(f"{host}/.s.PGSQL.{port}")
            return unix
        return socket.create_connection((host, int(str(port))))

    def _upwards(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self._armed and data.endswith(COMMIT):
                    cut, self._armed = self._armed, None
                    self.cuts += 1
                    self._cut(cut, data, client, server)
                    return
                server.sendall(data)
        _shut(server)

    def _cut(self, cut: Cut, data: bytes, client: socket.socket, server: socket.socket) -> None:
        if cut is Cut.AWAY:
            # Before the client can know that it was cut off and comes again.
            self.close()
        # The client's side is shut before the server speaks, so no answer gets through.
        _shut(client)
        if cut in (Cut.LATE_COMMIT, Cut.LATE_LOSS):
            self.later()
        if cut in (Cut.AFTER, Cut.LATE_COMMIT):
            server.sendall(data)
            server.shutdown(socket.SHUT_WR)
            return
        _shut(server)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            with suppress(OSError):  # the server is heard out also when nobody listens any more
                sink.sendall(data)
    _shut(sink)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
