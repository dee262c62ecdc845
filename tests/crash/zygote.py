"""``python -m tests.crash.zygote``: a process that has loaded the product once, and forks real processes of it.

What is forked runs the product's own command, or the tool server, and is killed like any process; only the seconds of
loading are spared. One JSON object a line is ordered on stdin, ``{"pid": N}`` answered on stdout. Whatever it forked ends with
it, and it ends with whoever ordered.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
import threading
from typing import Any, NoReturn

PR_SET_PDEATHSIG = 1
LOADED = (
    "alembic.command",
    "alembic.runtime.migration",
    "alembic.script",
    "gateway.cli.main",
    "gateway.cli.serve",
    "gateway.cli.worker",
    "gateway.upstream.mcp.adapter",
    "tests.crash.planted",
    "gateway.upstream.callables.adapter",
    "tests.crash.tool",
)


def main() -> None:
    for module in LOADED:
        importlib.import_module(module)

    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1, "what is forked must have no other threads"
    # Dead children are nobody's zombies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        mine = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(order, mine)
        print(json.dumps({"pid": pid}), flush=True)


def _become(order: dict[str, Any], parent: int) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        os.setsid()
        for place, target in ((0, os.devnull), (1, order["out"]), (2, order["err"])):
            flags = os.O_RDONLY if place == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            opened = os.open(target, flags, 0o600)
            os.dup2(opened, place)
            os.close(opened)
        os.environ.update(order["environ"])
        _run(order)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - the process ends here, and says why
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(order: dict[str, Any]) -> None:
    from gateway.cli.main import run
    from tests.crash import planted, tool

    if order.get("planted"):
        planted.plant(order["planted"])
    if order["what"] == "tool":
        tool.serve(**order["options"])
        return
    sys.argv = ["commitgate", *order["arguments"]]
    run()


if __name__ == "__main__":
    main()
