"""Starts MCP peers quickly: a process that has loaded the SDK once, and forks a peer whenever a command asks it to.

``mcp_nursery.py SOCKET`` is that process. ``mcp_nursery.py SOCKET ARGUMENT...`` is the command of a server: it hands its
stdin, stdout and stderr over, ends when its peer ends, and its peer ends when it does.
"""

import os
import socket
import sys


def command() -> None:
    with socket.socket(socket.AF_UNIX) as nursery:
        nursery.connect(sys.argv[1])
        told = "\0".join([os.environ.get("PEER_PORT", "0"), os.environ.get("PEER_TOKEN", ""), *sys.argv[2:]])
        socket.send_fds(nursery, [told.encode()], [0, 1, 2])
        nursery.recv(1)


def nursery() -> None:
    import runpy
    import signal
    import threading

    import mcp.server.lowlevel
    import mcp.server.stdio
    import mcp.server.subscriptions  # noqa: F401 - loaded for the peers, as the others
    import uvicorn  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(sys.argv[1])
    listening.listen(64)
    print("ready", flush=True)
    while True:
        asked, _ = listening.accept()
        told, fds, _, _ = socket.recv_fds(asked, 65536, 3)
        if os.fork():
            asked.close()
            for fd in fds:
                os.close(fd)
            continue
        listening.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for own, fd in enumerate(fds):
            os.dup2(fd, own)
            os.close(fd)
        os.environ["PEER_PORT"], token, *arguments = told.decode().split("\0")
        if token:
            os.environ["PEER_TOKEN"] = token
        threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
        sys.argv = arguments
        try:
            runpy.run_path(arguments[0], run_name="__main__")
        finally:
            os._exit(0)


def _end_with_parent() -> None:
    # Not by sys.stdin: a peer that is forked meanwhile would inherit its lock.
    os.read(0, 1)
    os._exit(0)


def _end_with(asked: socket.socket) -> None:
    asked.recv(1)
    os._exit(9)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        nursery()
    else:
        command()
