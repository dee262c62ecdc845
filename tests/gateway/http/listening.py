"""A client of server-sent events, as strict as a browser: fields, blank lines, comments."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from typing import Any

import httpx2

PATIENCE = 20.0
"""Seconds in which what is to come has to come."""


class Listening:
    """What came of one live stream, read by a thread of its own: events by (id, data), then None at the end."""

    def __init__(self, answer: httpx2.Response) -> None:
        self.answer = answer
        self.comments = 0
        self._came: Queue[tuple[int, dict[str, Any]] | None] = Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def next(self) -> tuple[int, dict[str, Any]] | None:
        """The next event; None at the end."""
        return self._came.get(timeout=PATIENCE)

    def take(self, count: int) -> list[int]:
        """Ids of the next events; the stream must not end before."""
        found = []
        for _ in range(count):
            event = self.next()
            assert event is not None
            found.append(event[0])
        return found

    def rest(self) -> list[int]:
        """Ids of all events up to the end."""
        found = []
        while (event := self.next()) is not None:
            found.append(event[0])
        return found

    def silent(self, seconds: float) -> bool:
        """Whether nothing comes for so long."""
        try:
            self._came.get(timeout=seconds)
        except Empty:
            return True
        return False

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self.answer.iter_lines():
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    name, _, value = line.partition(": ")
                    assert name in ("id", "data")
                    fields[name] = value
                elif fields:
                    self._came.put((int(fields["id"]), json.loads(fields["data"])))
                    fields = {}
        except (httpx2.HTTPError, RuntimeError):
            pass
        self._came.put(None)


@contextmanager
def listening(
    client: httpx2.Client, path: str, last: int | None = None, **params: int
) -> Iterator[Listening]:
    """Listen to the stream of ``path`` (``/v1/streams/KEY``)."""
    headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": str(last)})
    with client.stream("GET", path + "/events", headers=headers, params=params, timeout=60) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        heard = Listening(answer)
        try:
            yield heard
        finally:
            # A socket that is only closed stays open while the other thread reads from it.
            with suppress(OSError):
                answer.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
