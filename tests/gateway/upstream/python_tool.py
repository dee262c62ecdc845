"""Functions as tools: they do what ``FOLDER/behaviour.json`` says, and keep what reached them, synced to disk.

``FOLDER`` is the variable ``TOOL_FOLDER`` of their process.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from gateway.upstream.callables import current_call


def tool(**arguments: object) -> object:
    folder = Path(os.environ["TOOL_FOLDER"])
    call = current_call()
    carried = {
        name: getattr(call, name) for name in ("commit_key", "intent_id", "idempotency_key", "traceparent")
    }
    # Read first: whoever sees that the call has come may say at once what the next one does.
    told = json.loads((folder / "behaviour.json").read_text())
    _keep(folder / "received.jsonl", {"raw": call.arguments_raw, "pid": os.getpid(), "carried": carried})
    print("what a function prints is in nobody's way")
    result = _do(folder, told, arguments)
    _keep(folder / "finished.jsonl", {"arguments": arguments})
    return result


def _do(folder: Path, told: dict[str, object], arguments: dict[str, object]) -> object:
    match told["do"]:
        case "echo":
            return arguments
        case "refuse":
            raise LookupError(json.dumps(told["content"]))
        case "huge":
            return "x" * int(str(told["bytes"]))
        case "nonsense":
            return {1, 2}
        case "die":
            os._exit(9)
        case "hold":
            while not (folder / "release").exists():
                time.sleep(0.01)
    return told.get("content")


async def later(n: int) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"n": n}


def tell() -> dict[str, str | None]:
    names = ("TOOL_SECRET", "COMMITGATE_HOME", "PGPASSWORD")
    return {name: os.environ.get(name) for name in names}


def leave() -> None:
    raise SystemExit(3)


class Collapse(BaseException):
    """Nobody catches it, so Python prints it with its traceback."""


def blurt(lines: int) -> None:
    secret = os.environ["TOOL_SECRET"]
    for _ in range(lines):
        print("I know", secret, file=sys.stderr)
    sys.stderr.write("x" * (1 << 17) + secret + "\n")
    # Across what is read at once, and where a long line is cut.
    sys.stderr.write("y" * ((1 << 16) - 5) + secret + "z" * 100 + "\n")
    sys.stderr.flush()
    raise Collapse("no access with " + secret)


def lament(before: int) -> None:
    raise ValueError("x" * before + os.environ["TOOL_SECRET"] + "y" * 5000)


NO_FUNCTION = 1


def _keep(file: Path, line: object) -> None:
    with file.open("a") as opened:
        opened.write(json.dumps(line) + "\n")
        opened.flush()
        os.fsync(opened.fileno())
