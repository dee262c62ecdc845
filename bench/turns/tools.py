"""The tools: a real HTTP server in a process of its own that takes its time over each call, and logs what it was sent."""

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import log
from multiprocessing.connection import Connection
from pathlib import Path

from bench.turns.arms import WRITE

SPREAD = 0.5
"""Sigma of the logarithm of a latency."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the tools take: seconds, lognormal about ``median``, fixed by ``seed`` for each tool and order."""

    seed: int
    median: float

    def of(self, tool: str, order: str) -> float:
        """Seconds. The prefix of an order's name makes no difference."""
        chance = random.Random(f"{self.seed}:{tool}:{order.partition('/')[2]}")
        return chance.lognormvariate(log(self.median), SPREAD)


def serve(pace: Pace, log_file: Path, pipe: Connection) -> None:
    """Serve on a free port, which is told, until the pipe says so; the log is whole then."""
    asyncio.run(_serve(pace, log_file, pipe))


async def _serve(pace: Pace, log_file: Path, pipe: Connection) -> None:
    with log_file.open("w", encoding="utf-8") as log_lines:
        tools = _Tools(pace, log_lines.write)
        server = await asyncio.start_server(tools.answer, "127.0.0.1", 0, backlog=1024)
        async with server:
            pipe.send(server.sockets[0].getsockname()[1])
            await asyncio.to_thread(pipe.recv)
    pipe.send(None)


@dataclass(slots=True)
class _Tools:
    pace: Pace
    write_line: Callable[[str], int]
    versions: dict[str, int] = field(default_factory=dict)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
                }
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                told = json.dumps(await self._handle(first.split()[1].strip("/"), headers, body)).encode()
                lead = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(told)}\r\n\r\n"
                writer.write(lead.encode() + told)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _handle(self, tool: str, headers: dict[str, str], body: bytes) -> dict[str, object]:
        order = str(json.loads(body)["order"])
        line = {
            "tool": tool,
            "commit_key": headers.get("commit-key"),
            "intent_id": headers.get("intent-id"),
            "idempotency_key": headers.get("idempotency-key"),
            "arguments": body.decode(),
            "effect": tool == WRITE,
        }
        self.write_line(json.dumps(line) + "\n")
        # A read sees what is there when it arrives, a write shows when it is done: the worst for a read sent too soon.
        seen = self.versions.get(order, 0)
        await asyncio.sleep(self.pace.of(tool, order))
        if tool == WRITE:
            seen = self.versions[order] = self.versions.get(order, 0) + 1
        return {"order": order, "version": seen}
