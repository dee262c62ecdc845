"""``python -m tests.crash.stdio_tool FOLDER``: the tools of the crash tests as an MCP server over stdin and stdout.

It does all that it has read, also when nobody listens any more, and ends when its stdin does.
"""

import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.crash.mcp_tool import is_call, rpc
from tests.crash.world import HALF_ANSWERED, Acting, Broken, Present, World, end


class _Server:
    def __init__(self, folder: Path) -> None:
        self._world = World(folder)
        self._act = Acting(self._world)
        self._present = Present(folder)
        self._speaking = threading.Lock()

    def serve(self) -> None:
        # The threads are not waited for here, but by the interpreter before it ends.
        for line in sys.stdin.buffer:
            threading.Thread(target=self._take, args=(json.loads(line),)).start()

    def _take(self, message: dict[str, Any]) -> None:
        with self._present.busy():
            try:
                answer = rpc(message, self._act)
            except Broken:
                end()
            if answer is not None:
                self._say(json.dumps(answer).encode() + b"\n", of_call=is_call(message))

    def _say(self, line: bytes, *, of_call: bool) -> None:
        with self._speaking, suppress(BrokenPipeError):
            os.write(1, line[:3])
            if of_call:
                self._world.meet(HALF_ANSWERED)
            os.write(1, line[3:])


if __name__ == "__main__":
    _Server(Path(sys.argv[1])).serve()
