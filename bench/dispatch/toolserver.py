"""A tool over HTTP that does nothing: a bare asyncio server, so that it is not what is measured."""

import asyncio
from multiprocessing.connection import Connection

_ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"ok":true}'


def serve(pipe: Connection) -> None:
    """Serve on a free port, which is told, until the pipe says so."""
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=2048)
    async with server:
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.lower().split(b"\r\n")
            length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
            await reader.readexactly(length)
            writer.write(_ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
