"""``POST /v1/chat/completions``, streamed or whole. The n-th message of a conversation is the n-th of the script.

It keeps nothing between requests: how far a conversation is, it sees by the assistant's messages in it.
"""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "scripted"
PIECE = 5
"""Characters of one delta."""

PAUSE = 0.03
"""Seconds between two of them, about what a provider takes."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message: text, and calls as (tool, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


@contextmanager
def serving(script: Sequence[Message]) -> Iterator[str]:
    """Serve in a thread; the base URL for a client of OpenAI's."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(script: Sequence[Message]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = sum(message["role"] == "assistant" for message in asked["messages"])
            message = script[min(said, len(script) - 1)]
            self.send_response(200)
            if asked.get("stream"):
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for chunk in chunks(message, said):
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                    time.sleep(PAUSE)
                self.wfile.write(b"data: [DONE]\n\n")
                return
            body = json.dumps(whole(message, said)).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own word
            """Nothing."""

    return Handler


def whole(message: Message, number: int) -> dict[str, Any]:
    """The message as one answer."""
    calls = [_call(number, place, tool, _spelled(told)) for place, (tool, told) in enumerate(message.calls)]
    said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if calls:
        said["tool_calls"] = calls
    choice = {"index": 0, "message": said, "finish_reason": _reason(message)}
    return {**_head(number, "chat.completion"), "choices": [choice], "usage": _USAGE}


def chunks(message: Message, number: int) -> Iterator[dict[str, Any]]:
    """The message as a stream: text and arguments in pieces, each call with its name first."""
    yield _chunk(number, {"role": "assistant", "content": ""})
    for piece in _pieces(message.text):
        yield _chunk(number, {"content": piece})
    for place, (tool, arguments) in enumerate(message.calls):
        yield _chunk(number, {"tool_calls": [{"index": place, **_call(number, place, tool, "")}]})
        for piece in _pieces(_spelled(arguments)):
            yield _chunk(number, {"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield _chunk(number, {}, _reason(message))
    yield {**_head(number, "chat.completion.chunk"), "choices": [], "usage": _USAGE}


_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _head(number: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": MODEL}


def _chunk(number: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {**_head(number, "chat.completion.chunk"), "choices": [choice]}


def _call(number: int, place: int, tool: str, arguments: str) -> dict[str, Any]:
    return {
        "id": f"call_{number}_{place}",
        "type": "function",
        "function": {"name": tool, "arguments": arguments},
    }


def _reason(message: Message) -> str:
    return "tool_calls" if message.calls else "stop"


def _spelled(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))
