"""``python -m examples.shop.server``: the shop as a process of its own.

Once it takes requests it prints one line to standard output, and writes it to ``--ready-file`` if given::

    {"ready": true, "origin": "http://127.0.0.1:41234", "port": 41234, "pid": 4711}

The data folder holds ``shop.sqlite`` and ``requests.jsonl``; an existing one is gone on with. At SIGTERM or
SIGINT requests under way are finished, then it exits 0.
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from examples.shop.app import Latency, Lifespan, make_app
from examples.shop.counter import Counter
from examples.shop.request_log import RequestLog
from examples.shop.store import open_store
from examples.shop.tools import ARGUMENTS
from examples.shop.world import DEMO_SEED, make_world

STORE, LOG = "shop.sqlite", "requests.jsonl"


def parse_latency(text: str) -> tuple[str, Latency]:
    """``TOOL=MS`` (before acting) or ``TOOL=MS+MS`` (before and after); ``*`` names all tools."""
    name, _, rest = text.partition("=")
    before, _, after = rest.partition("+")
    if name != "*" and name not in ARGUMENTS:
        raise argparse.ArgumentTypeError(f"there is no tool {name!r}")
    try:
        latency = Latency(float(before) / 1000, float(after or 0) / 1000)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not TOOL=MS or TOOL=MS+MS: {text!r}") from error
    if min(latency.before, latency.after) < 0:
        raise argparse.ArgumentTypeError(f"a latency is not negative: {text!r}")
    return name, latency


def parse_command(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.shop.server", description="A small shop as a tool server."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9100, help="0: any free one")
    parser.add_argument("--data", type=Path, required=True, help="folder of its database and request log")
    parser.add_argument("--ready-file", type=Path, help="written, whole, once requests are taken")
    parser.add_argument("--seed", type=int, default=DEMO_SEED, help="of the world, where the data is new")
    parser.add_argument(
        "--latency",
        type=parse_latency,
        action="append",
        default=[],
        metavar="TOOL=MS[+MS]",
        help="may be repeated",
    )
    return parser.parse_args(argv)


def listen(host: str, port: int) -> socket.socket:
    """A socket that already queues connections, so that ready means ready."""
    # The protocol is named because asyncio sets TCP_NODELAY only then; without it answers wait 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(128)
    return listener


def announcing(host: str, port: int, ready_file: Path | None) -> Lifespan:
    """A lifespan that tells the port once the application has started."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        line = json.dumps(
            {"ready": True, "origin": f"http://{host}:{port}", "port": port, "pid": os.getpid()}
        )
        if ready_file is not None:
            draft = ready_file.with_name(ready_file.name + ".part")
            draft.write_text(line + "\n", encoding="utf-8")
            draft.replace(ready_file)
        print(line, flush=True)
        yield

    return lifespan


def end_calmly(_: int, __: FrameType | None) -> None:
    """uvicorn raises the signal again after its shutdown; that one shall not kill the process."""


def main(argv: list[str] | None = None) -> int:
    """Serve until a signal ends it; 0, or 1 where the port is taken or the folder unusable."""
    wanted = parse_command(argv)
    try:
        wanted.data.mkdir(parents=True, exist_ok=True)
        listener = listen(wanted.host, wanted.port)
        log = RequestLog(wanted.data / LOG, time.time)
        store = open_store(wanted.data / STORE, make_world(wanted.seed))
    except OSError as error:
        print(f"shop: {error}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, end_calmly)
    signal.signal(signal.SIGINT, end_calmly)
    app = make_app(
        Counter(store, log, time.time),
        dict(wanted.latency),
        announcing(wanted.host, listener.getsockname()[1], wanted.ready_file),
    )
    uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).run(sockets=[listener])
    store.close()
    log.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
