"""``python -m gateway.upstream.callables.child MODULE:FUNCTION``: a process that runs one function, call after call.

Frames come on stdin and go to stdout; what the function prints goes to stderr, which the
dispatcher logs without secrets. It ends when its stdin does.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO

from gateway.upstream.callables.context import ToolCall, begin
from gateway.upstream.callables.frames import (
    ANSWER,
    BEGUN,
    BROKEN,
    LONGEST_TOLD,
    MAX_BYTES,
    RAISED,
    READY,
    frame,
    read,
    split,
)


def main() -> None:
    """Load the function, then serve."""
    source, sink = _pipes()
    try:
        function = _find(sys.argv[1])
    except BaseException as error:  # noqa: BLE001 - whatever a module does when it is loaded
        _say(sink, BROKEN, _told(error))
        return
    _say(sink, READY)
    while (got := read(source)) is not None:
        context, arguments = split(got[1])
        begin(ToolCall(**json.loads(context), arguments_raw=arguments.decode()))
        _say(sink, BEGUN)
        try:
            answer = _spelled(_run(function, json.loads(arguments)))
        except Exception as error:  # noqa: BLE001 - it is the tool's own refusal
            _say(sink, RAISED, f"{type(error).__name__}\n".encode() + _told(error))
        else:
            _say(sink, ANSWER, answer)


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes under numbers of their own, so that the function has neither."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


def _find(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for step in path.split("."):
        found = getattr(found, step)
    if not callable(found):
        raise TypeError(f"{name} is not callable")
    return found  # type: ignore[no-any-return]


def _run(function: Callable[..., Any], arguments: dict[str, Any]) -> object:
    result = function(**arguments)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(result: Awaitable[object]) -> object:
    return await result


def _spelled(result: object) -> bytes:
    """The result as JSON; what has none is told as Python shows it, for the function has run."""
    try:
        spelled = json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
    except Exception:  # noqa: BLE001 - whatever its objects do
        spelled = repr(result).encode("utf-8", "backslashreplace")
    return spelled[:MAX_BYTES]


def _told(error: BaseException) -> bytes:
    # One byte more than is read shows there that it was cut.
    return str(error).encode("utf-8", "backslashreplace")[: LONGEST_TOLD + 1]


def _say(sink: BinaryIO, kind: bytes, body: bytes = b"") -> None:
    sink.write(frame(kind, body))
    sink.flush()


if __name__ == "__main__":
    main()
