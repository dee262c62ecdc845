"""The shop as a real process, for tests."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from examples.shop.request_log import read_log

ROOT = Path(__file__).parents[3]


@dataclass
class Shop:
    process: subprocess.Popen[str]
    origin: str
    data: Path
    client: httpx2.Client

    def call(self, tool: str, arguments: object, timeout: float = 10, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(f"{self.origin}/tools/{tool}", json=arguments, headers=named, timeout=timeout)

    def log(self) -> list[dict[str, Any]]:
        return list(read_log(self.data / "requests.jsonl"))


@contextmanager
def running_shop(data: Path, *options: str) -> Iterator[Shop]:
    command = [sys.executable, "-m", "examples.shop.server", "--port", "0", "--data", str(data), *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            with httpx2.Client() as client:
                yield Shop(process, ready["origin"], data, client)
        finally:
            process.kill()
