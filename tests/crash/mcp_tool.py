"""The tools of the crash tests as an MCP server speaks of them: one JSON-RPC message after the other, by hand."""

import json
from collections.abc import Callable
from typing import Any

TOOLS = ("read", "put", "write")
_META = "commitgate/"
_SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}, "nth": {"type": "integer"}}}

Act = Callable[[str, dict[str, Any], str, str, str | None], dict[str, object]]
"""Does a call: tool, arguments, commit key, intent id, idempotency key."""


def is_call(message: dict[str, Any]) -> bool:
    """Whether it asks for a tool to be called."""
    return bool(message["method"] == "tools/call")


def rpc(message: dict[str, Any], act: Act) -> dict[str, Any] | None:
    """The answer to one message; None where it needs none. Raises what ``act`` raises."""
    if "id" not in message:
        return None
    said: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            server = {"name": "crash", "version": "1"}
            return said | {
                "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
            }
        case "tools/list":
            return said | {"result": {"tools": [{"name": name, "inputSchema": _SCHEMA} for name in TOOLS]}}
        case "tools/call":
            asked = message["params"]
            meta = asked["_meta"]
            names = (
                meta[f"{_META}commit_key"],
                meta[f"{_META}intent_id"],
                meta.get(f"{_META}idempotency_key"),
            )
            answer = act(asked["name"], asked["arguments"], *names)
            text = {"type": "text", "text": json.dumps(answer)}
            return said | {"result": {"content": [text], "structuredContent": answer, "isError": False}}
        case _:
            return said | {"error": {"code": -32601, "message": "Method not found"}}
