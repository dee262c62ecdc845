"""A real MCP server, built with the SDK, in a process of its own: ``mcp_peer.py FOLDER stdio|http [legacy]``.

It does what ``FOLDER/behaviour.json`` says at the time of each call, offers the tools of ``FOLDER/tools.json``, and keeps
every call that reached it in ``FOLDER/received.jsonl``, as it came and before anything is done about it, synced to disk.
Calls that came to their end stand in ``FOLDER/finished.jsonl``.
"""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import IO, Any, cast

import anyio
import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged
from starlette.types import Message, Receive, Scope, Send

FOLDER = Path(sys.argv[1])
WIRE = sys.argv[2]
LEGACY = "legacy" in sys.argv[3:]
BUS = InMemorySubscriptionBus()
Context = ServerRequestContext[Any]
TOLD: dict[str, dict[str, Any]] = {}
"""What a call does that has come, by the id of its request."""


def keep(name: str, line: object) -> None:
    with (FOLDER / name).open("a") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def behaviour() -> dict[str, Any]:
    told: dict[str, Any] = json.loads((FOLDER / "behaviour.json").read_text())
    return told


def reached(raw: bytes, headers: dict[str, str] | None = None) -> bool:
    """Keep a call that has come; whether it is one."""
    try:
        message = json.loads(raw)
    except ValueError:
        return False
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return False
    # Read before it is kept: whoever sees it there may say at once what the next one does.
    told = TOLD[str(message.get("id"))] = behaviour()
    keep("received.jsonl", {"pid": os.getpid(), "raw": raw.decode(), "message": message, "headers": headers})
    if told["do"] == "die":
        os._exit(9)
    return True


async def list_tools(_ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    tools = json.loads((FOLDER / "tools.json").read_text())
    return types.ListToolsResult.model_validate({"tools": tools, "ttlMs": 0, "cacheScope": "public"})


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    told = TOLD.pop(str(ctx.request_id), None) or behaviour()
    result = await ACTS[told["do"]](ctx, params, told)
    keep("finished.jsonl", {"arguments": params.arguments})
    return result


def says(content: object, *, failed: bool = False) -> types.CallToolResult:
    text = types.TextContent(type="text", text=json.dumps(content))
    return types.CallToolResult(content=[text], structured_content={"said": content}, is_error=failed)


async def answer(
    _ctx: Context, _params: types.CallToolRequestParams, told: dict[str, Any]
) -> types.CallToolResult:
    return says(told["content"])


async def echo(
    _ctx: Context, params: types.CallToolRequestParams, _told: dict[str, Any]
) -> types.CallToolResult:
    return says(params.arguments)


async def refuse(
    _ctx: Context, _params: types.CallToolRequestParams, told: dict[str, Any]
) -> types.CallToolResult:
    return says(told["content"], failed=True)


async def huge(
    _ctx: Context, _params: types.CallToolRequestParams, told: dict[str, Any]
) -> types.CallToolResult:
    return says("x" * told["bytes"])


async def hold(
    _ctx: Context, _params: types.CallToolRequestParams, told: dict[str, Any]
) -> types.CallToolResult:
    while not (FOLDER / "release").exists():
        await asyncio.sleep(0.01)
    return says(told["content"])


async def protocol(
    _ctx: Context, _params: types.CallToolRequestParams, told: dict[str, Any]
) -> types.CallToolResult:
    raise MCPError(code=told["code"], message=told.get("message", "no such thing"))


async def chatter(
    ctx: Context, _params: types.CallToolRequestParams, _told: dict[str, Any]
) -> types.CallToolResult:
    """Tell of progress, and never come to an end."""
    for step in range(10_000):
        await ctx.session.send_progress_notification(1, step)
        await asyncio.sleep(0.01)
    return says("late")


async def ask(
    ctx: Context, _params: types.CallToolRequestParams, _told: dict[str, Any]
) -> types.CallToolResult:
    """Ask the client something; answer with what came back."""
    try:
        await ctx.session.elicit_form("your name?", {"type": "object", "properties": {}})
    except MCPError as error:
        return says({"refused": error.error.code})
    return says("answered")


async def tell(
    _ctx: Context, _params: types.CallToolRequestParams, _told: dict[str, Any]
) -> types.CallToolResult:
    """Tell what should be kept."""
    return says({"token": os.environ.get("PEER_TOKEN"), "home": os.environ.get("COMMITGATE_HOME")})


async def blurt(
    _ctx: Context, _params: types.CallToolRequestParams, told: dict[str, Any]
) -> types.CallToolResult:
    """Say on stderr what should be kept, and much more than a pipe holds; then answer."""
    sys.stderr.write(f"I know {os.environ.get('PEER_TOKEN')}\n")
    for _ in range(told["lines"]):
        sys.stderr.write("x" * 1000 + "\n")
    sys.stderr.flush()
    return says(told["content"])


async def announce(
    ctx: Context, _params: types.CallToolRequestParams, told: dict[str, Any]
) -> types.CallToolResult:
    """Tell that the tools changed, before the answer."""
    await BUS.publish(ToolsListChanged())
    if LEGACY:
        await ctx.session.send_tool_list_changed()
    return says(told["content"])


async def nonsense(
    ctx: Context, _params: types.CallToolRequestParams, _told: dict[str, Any]
) -> types.CallToolResult:
    """Answer with a line that is no JSON-RPC message."""
    os.write(
        RAW_STDOUT, (json.dumps({"jsonrpc": "2.0", "id": ctx.request_id, "result": "text"}) + "\n").encode()
    )
    await asyncio.sleep(600)
    raise AssertionError


ACTS = {
    "answer": answer,
    "echo": echo,
    "refuse": refuse,
    "huge": huge,
    "hold": hold,
    "protocol": protocol,
    "chatter": chatter,
    "ask": ask,
    "tell": tell,
    "blurt": blurt,
    "announce": announce,
    "nonsense": nonsense,
}

SERVER: Server[Any] = Server(
    "peer",
    version="1",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_subscriptions_listen=ListenHandler(BUS),
)


class Stdin:
    """The lines of stdin, each call kept as it came."""

    def readline(self) -> str:
        while LEGACY and b'"server/discover"' in (line := sys.stdin.buffer.readline()):
            error = {"code": -32601, "message": "Method not found"}
            refusal = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "error": error}
            os.write(RAW_STDOUT, (json.dumps(refusal) + "\n").encode())
        if not LEGACY:
            line = sys.stdin.buffer.readline()
        reached(line)
        return line.decode()


class Front:
    """Keeps each call as it came, before the SDK sees it, and answers some calls itself."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = b""
        while (message := await receive()).get("more_body"):
            body += message["body"]
        body += message["body"]
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        is_call = reached(body, headers)
        told = behaviour()
        if is_call and told["do"] in ("status", "nonsense"):
            await _respond(send, told.get("code", 200), told.get("body", "not json"), told.get("headers", {}))
            return
        if LEGACY and b'"server/discover"' in body:
            await _respond(send, 404, "", {})
            return
        sent = False

        async def again() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, send)


async def _respond(send: Send, status: int, body: str, headers: dict[str, str]) -> None:
    named = {"content-type": "application/json", **headers}
    raw = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body.encode()})


async def over_stdio() -> None:
    stdin = anyio.wrap_file(cast(IO[str], Stdin()))
    async with stdio_server(stdin=stdin) as (read, write):
        await SERVER.run(read, write, SERVER.create_initialization_options())


async def over_http() -> None:
    app = SERVER.streamable_http_app(session_idle_timeout=None)
    listening = socket.create_server(("127.0.0.1", int(os.environ.get("PEER_PORT", "0"))))
    server = uvicorn.Server(uvicorn.Config(Front(app), log_level="error", lifespan="on"))
    port = FOLDER / "port"
    (FOLDER / "port.new").write_text(str(listening.getsockname()[1]))
    (FOLDER / "port.new").rename(port)
    await server.serve([listening])


if __name__ == "__main__":
    RAW_STDOUT = os.dup(1)
    asyncio.run(over_stdio() if WIRE == "stdio" else over_http())
