"""``python -m tests.tau2.server``: the 16 retail tools as a process of its own, which remembers everything.

It keeps a version for each key, apart for each run of a task: a WRITE raises its key's version by one, a READ answers its
key's version of now. The log is appended to and fsynced: a line when a request has come, another when it was acted on::

    {"line": "received", "n", "tool", "commit_key", "intent_id", "idempotency_key", "arguments"}
    {"line": "handled", "n", "effect", "key", "version"}

Ready, it prints ``{"origin": "http://127.0.0.1:41234"}``. ``GET /idle`` answers once all that had come before is done.
"""

import argparse
import asyncio
import json
import os
import random
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import uvicorn

from tests.tau2.retail import ANY, effect_of, key_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Log:
    """The only writer of the log."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._last = 0

    def received(self, **line: object) -> int:
        self._last += 1
        self._append({"line": "received", "n": self._last, **line})
        return self._last

    def handled(self, n: int, **line: object) -> None:
        self._append({"line": "handled", "n": n, **line})

    def _append(self, line: dict[str, object]) -> None:
        self._file.write(json.dumps(line).encode() + b"\n")
        os.fsync(self._file.fileno())


class Retail:
    """The tools, as an ASGI application.

    ``slowest``: longest wait in seconds, drawn anew before and after each act. ``abandons``: share of the requests that
    are given up if their caller has gone before the act.
    """

    def __init__(self, log: Log, slowest: float, abandons: float, seed: int) -> None:
        self._log = log
        self._slowest = slowest
        self._abandons = abandons
        self._random = random.Random(seed)
        self._versions: Counter[tuple[str, str]] = Counter()
        self._running: set[asyncio.Future[None]] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/idle":
            await asyncio.gather(*self._running)
            await _answer(send, {"idle": True})
            return
        done = asyncio.get_running_loop().create_future()
        self._running.add(done)
        try:
            await self._call(scope, receive, send)
        finally:
            self._running.discard(done)
            done.set_result(None)

    async def _call(self, scope: Message, receive: Receive, send: Send) -> None:
        tool = scope["path"].removeprefix("/tools/")
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = await _body(receive)
        if body is None:
            return
        commit_key = headers["commit-key"]
        n = self._log.received(
            tool=tool,
            commit_key=commit_key,
            intent_id=headers["intent-id"],
            idempotency_key=headers.get("idempotency-key"),
            arguments=body.decode(),
        )
        before, after = (self._wait() for _ in range(2))
        gives_up = self._random.random() < self._abandons
        if await _gone(receive, before) and gives_up:
            self._log.handled(n, effect=False, key=None, version=None)
            return
        arguments = json.loads(body)
        key = key_of(tool, arguments)
        if key == ANY and arguments.keys() != {"summary"}:
            self._log.handled(n, effect=False, key=None, version=None)
            await _answer(send, {"error": "bad_arguments"}, 422)
            return
        version = self._act(tool, commit_key.rpartition("-")[0], key)
        self._log.handled(n, effect=effect_of(tool) == "WRITE", key=key, version=version)
        await _gone(receive, after)
        await _answer(send, {"n": n, "key": key, "version": version})

    def _act(self, tool: str, run: str, key: str | None) -> int | None:
        if key is None:
            return None
        if effect_of(tool) == "WRITE":
            self._versions[run, key] += 1
        return self._versions[run, key] + (self._versions[run, ANY] if key != ANY else 0)

    def _wait(self) -> float:
        # Half of them at once, a few much slower than the rest.
        return self._random.choice([0.0, 0.0, 0.3, 1.0]) * self._random.random() * self._slowest


async def _body(receive: Receive) -> bytes | None:
    """All of it; None if the caller went in the middle of it: then it is no request."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body, more = body + message["body"], message["more_body"]
    return body


async def _gone(receive: Receive, within: float) -> bool:
    """Wait; whether the caller had gone by then."""
    try:
        async with asyncio.timeout(within):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return False
    return True


async def _answer(send: Send, content: dict[str, object], status: int = 200) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--slowest", type=float, default=0.03)
    parser.add_argument("--abandons", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    # The protocol is named because asyncio sets TCP_NODELAY only then.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(512)
    retail = Retail(Log(asked.log), asked.slowest, asked.abandons, asked.seed)
    print(json.dumps({"origin": f"http://127.0.0.1:{listening.getsockname()[1]}"}), flush=True)
    config = uvicorn.Config(retail, log_level="warning", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
