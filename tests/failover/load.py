"""Writers that drive turns over the gateway's HTTP interface, and insist: what was not answered is asked again."""

import json
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx2

from tests.failover.toollog import SLOW
from tests.gateway.dispatcher.floor import spelled

PATIENCE = 40.0
SLOW_EVERY = 5


class Load:
    """``writers`` threads over the gateway at ``url``. ``acked``: the seq that was acknowledged, by commit key."""

    def __init__(self, url: str, writers: int) -> None:
        self._url = url
        self._numbers = count()
        self._over = threading.Event()
        self.acked: dict[str, int] = {}
        self.done: list[str] = []
        self.failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._write, daemon=True) for _ in range(writers)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    @staticmethod
    def text(number: int) -> list[str]:
        """The tokens of one stream: a WRITE, and words around it."""
        key = f"{SLOW if number % SLOW_EVERY == 0 else 'quick'}-{number}"
        return ["Well: ", spelled("write", {"key": key}), " done."]

    def _write(self) -> None:
        try:
            with httpx2.Client(base_url=self._url, timeout=20, trust_env=False) as client:
                while not self._over.is_set():
                    self._turn(client, next(self._numbers))
        except BaseException as error:  # noqa: BLE001 - the test looks at them
            self.failures.append(error)

    def _turn(self, client: httpx2.Client, number: int) -> None:
        key = f"turn-{number}"
        opening = {"commit_key": key, "tool_calls": {"format": "hermes", "from": "detected"}}
        opened = self._insist(client, "/v1/streams", opening)
        self.acked[key] = opened["seq"]
        for batch, events in enumerate(self._batches(number)):
            body = {"writer_epoch": opened["writer_epoch"], "batch_id": f"b{batch}", "events": events}
            self.acked[key] = self._insist(client, f"/v1/streams/{key}/events", body)["seq"]
        self.done.append(key)

    def _batches(self, number: int) -> Iterator[list[dict[str, Any]]]:
        tokens = [{"text": text} for text in self.text(number)]
        yield [{"type": "tokens.drafted", "round": 0, "start": 0, "tokens": tokens[:2]}]
        yield [{"type": "tokens.ruled", "round": 0, "start": 0, "end": 2, "accepted": 2}]
        yield [
            {"type": "tokens.accepted", "round": 0, "tokens": tokens[2:]},
            {"type": "stream.finished", "reason": "stop"},
        ]

    def _insist(self, client: httpx2.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
        raw, deadline = json.dumps(body).encode(), time.monotonic() + PATIENCE
        while True:
            try:
                answer = client.post(path, content=raw, headers={"Content-Type": "application/json"})
            except httpx2.TransportError:
                answer = None
            if answer is not None and answer.status_code < 500:
                assert answer.status_code < 300, f"{path}: {answer.text}"
                found: dict[str, Any] = answer.json()
                return found
            assert time.monotonic() < deadline, f"{path}: no answer for {PATIENCE} s"
            time.sleep(0.05)
